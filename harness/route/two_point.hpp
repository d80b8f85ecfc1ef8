// harness/route/two_point.hpp: a boundary with two points, where a producer may leave its result unfinalised because a
// consumer is certain to finish it (routing-and-targets.md 6.3, DP-1 to DP-7).
//
// Promises: an unfinalised tensor is finished by the variant that was selected for it, by the trusted finalise in front
// of stock (an orphan), or not at all: then the call aborts. Pending exports are looked at before anything else, so no
// flag that flips in between makes stock read unfinalised data.
// Does not: move data; the caller does what the answer says.
// Who calls it: tests, until an engine binding for collective.moe_epilogue.v1 exists; the specification's vectors run
// it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/route/selection.hpp"

namespace assay {

inline constexpr std::int64_t kMostPlaces = 64;  // K

class TwoPoint {
 public:
  struct Counters {
    std::uint64_t exports = 0, consumed = 0, orphans = 0, stale_dropped = 0, vetoes = 0;
  };
  struct Export {
    std::uint64_t address = 0;  // of the output, the key within a forward
    std::int64_t exp_tokens = 0, top_k = 0, hidden = 0;
  };
  enum class Layer : std::uint8_t { middle, last, reduces_at_once };
  enum class Armed : std::uint8_t { armed, stock, error };

  // DP-5: what an earlier forward left is dropped. DP-7: whether the forward lies in an excluded phase is fixed here.
  void begin_forward(ExcludedPhase);

  // DP-1: only a selection arms, taken from facts before the call. error: the address is pending already (DP-5).
  Armed arm(const RouteDecision&, std::vector<int> group, const Export&, Layer);
  // DP-6: the launcher's export sequence number before and after; unchanged, a tactic has finalised by itself.
  void launched(std::uint64_t address, std::uint64_t before, std::uint64_t after);

  struct Consumer {
    std::uint64_t address = 0;
    std::int64_t rows = 0, hidden = 0;
    RouteDecision decision;  // derived anew
    std::vector<int> group;
    ExcludedPhase phase = ExcludedPhase::none;  // as the consumer sees it now
  };
  enum class Finish : std::uint8_t {
    plain,   // nothing is pending: an ordinary call
    fused,   // the stored variant finishes
    orphan,  // trusted finalise, then stock; no receipt
    abort,
  };
  struct Answer {
    Finish finish = Finish::plain;
    std::string why;
  };
  [[nodiscard]] Answer consume(const Consumer&);

  [[nodiscard]] const Counters& counters() const noexcept { return counters_; }
  [[nodiscard]] bool blocks_pass() const noexcept { return counters_.orphans != 0; }  // DP-3

 private:
  struct Pending {
    Export exported;
    std::string variant;
    Descriptor descriptor;
    std::vector<int> group;
  };
  std::map<std::uint64_t, Pending> pending_;
  ExcludedPhase forward_ = ExcludedPhase::none;
  Counters counters_;
};

}  // namespace assay
