// harness/route/selection.hpp: who serves a call, decided before any candidate code runs.
//
// Promises: routing-and-targets.md 5.1, 5.2 steps 1 to 6, and 7. decide() asks a call site in the order of the steps
// and no further than it must: in an excluded phase no descriptor is built and no variant is looked at. Exactly one
// variant has to accept; everything else is stock, and the decision says why. Pure but for the call site's own
// functions. Does not: agree among ranks (agreement.hpp), run anything (serving.hpp). Who calls it: the `routed` drive,
// tests.
//
//   const RouteDecision d = decide({.variants = &set}, {.describe = [&] { return descriptor; }});
//   if (d.selected()) launch(d.variant);
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/route/variant_set.hpp"

namespace assay {

enum class RouteOutcome : std::uint8_t {
  selected,
  registry_inactive,
  slot_unregistered,
  out_of_domain,
  ambiguous,
  excluded_phase,
  structural_mismatch,
  prerequisite_missing,  // step 6: what the selected variant needs is not there yet
  rank_divergence,       // agreement.hpp
};
[[nodiscard]] std::string_view name_of(RouteOutcome) noexcept;

// What an outcome makes of the attempt in which it happened.
enum class AttemptEffect : std::uint8_t { none, validator, infrastructure, candidate };
[[nodiscard]] std::string_view name_of(AttemptEffect) noexcept;
[[nodiscard]] AttemptEffect effect_of(RouteOutcome) noexcept;

// Phases of the runtime in which every call is stock's and nothing is evidence.
enum class ExcludedPhase : std::uint8_t { none, tuning, tracing, memory_profiling, graph_memory_profiling, model_load };
[[nodiscard]] std::string_view name_of(ExcludedPhase) noexcept;

struct Registry {
  bool active = true;                    // off: the incumbent arm, the driver process, a pending load
  const VariantSet* variants = nullptr;  // NULL or empty: nothing is registered for the slot
};

// A sentence where something is in the way.
using Objection = std::optional<std::string>;

// What a binding can say of one call. Functions are called at most once, in this order.
struct CallSite {
  bool armed = true;  // by the arena, never by the environment
  ExcludedPhase phase = ExcludedPhase::none;
  std::function<Objection()> structural = {};
  std::function<Descriptor()> describe = {};  // a DescriptorError passes through: it is the binding's defect
  std::function<Objection(const std::string& variant, const Descriptor&)> prerequisite = {};
};

struct Refused {
  std::string variant;
  std::vector<Mismatch> mismatches;
};

struct RouteDecision {
  RouteOutcome outcome = RouteOutcome::registry_inactive;
  std::string variant;                   // of a selected call
  std::optional<Descriptor> descriptor;  // from step 4 on
  std::vector<Refused> refused;          // out_of_domain: every variant, ascending by id, with all its mismatches
  std::vector<std::string> accepting;    // ids, ascending
  std::string why;                       // one sentence; empty where selected

  [[nodiscard]] bool selected() const noexcept { return outcome == RouteOutcome::selected; }
};

[[nodiscard]] RouteDecision decide(const Registry&, const CallSite&);

// SEL-3: requests that one call serves together. All are decided before anything is written; where one is stock's, all
// are, and so they are where two variants would be needed. The decision is the first that is not selected.
[[nodiscard]] RouteDecision decide_batch(const Registry&, std::span<const CallSite>);

}  // namespace assay
