// harness/result/attempt.hpp: what an attempt concludes from its evidence products, and what one distributed
// observation concludes from its ranks.
//
// Promises: routing-and-targets.md 10.2 and 10.3. Between products a FAIL wins over everything that is not decided;
// inside one observation it does not: a missing or incomplete rank makes the whole observation infrastructure. A
// product that is bound to anything else than this attempt counts as missing. Phase records that cannot have happened
// cannot be made.
// Who uses it: the verdict of a gate, fixtures/verdict_vectors.json.
//
//   PhaseRecord r = PhaseRecord::make(PhaseState::passed, PhaseState::candidate_failed, PhaseState::not_run, 0, true);
//   GroupOutcome g = group_outcome({r, r, std::nullopt, r});      // infrastructure before eager
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/result/decision.hpp"

namespace assay {

// ---- products ----

enum class ProductKind : std::uint8_t { execution, graph, audit, speed, quality };  // in the order of their reasons
[[nodiscard]] std::string_view name_of(ProductKind) noexcept;

// SHA-256 each, of what the product was made of.
struct ProductIdentity {
  std::string candidate, contract, stack, arena, attempt;
  friend bool operator==(const ProductIdentity&, const ProductIdentity&) = default;
};

struct Product {
  ProductKind kind = ProductKind::execution;
  ProductIdentity identity;
  AttributedVerdict decision;
};

struct Attempt {
  ProductIdentity identity;
  bool stack_is_current = true;  // its own stack is the one that is served now
  std::vector<ProductKind> required;
};

[[nodiscard]] AttributedVerdict decide(const Attempt&, const std::vector<Product>&);

// ---- retries (10.4) ----

enum class Retry : std::uint8_t {
  none,                  // PASS: never replayed from record
  replay_from_record,    // FAIL of identical bytes in an identical arena
  complete_new_attempt,  // NO_DECISION within the budget
  hold,                  // NO_DECISION, and the budget is spent
};
[[nodiscard]] std::string_view name_of(Retry) noexcept;
[[nodiscard]] Retry retry_after(const AttributedVerdict&, int attempts_left) noexcept;

// ---- one distributed observation ----

enum class PhaseState : std::uint8_t { not_run, passed, candidate_failed, infrastructure_failed };
[[nodiscard]] PhaseState phase_state_from(std::string_view);  // "NOT_RUN", ...; throws std::invalid_argument

class PhaseRecord {
 public:
  // Throws std::invalid_argument with the constraint that is broken (slots.md 11.1).
  static PhaseRecord make(PhaseState eager, PhaseState capture, PhaseState replay, std::int64_t replays, bool complete);

  [[nodiscard]] PhaseState eager() const noexcept { return eager_; }
  [[nodiscard]] PhaseState capture() const noexcept { return capture_; }
  [[nodiscard]] PhaseState replay() const noexcept { return replay_; }
  [[nodiscard]] std::int64_t replays() const noexcept { return replays_; }
  [[nodiscard]] bool complete() const noexcept { return complete_; }
  [[nodiscard]] bool candidate_failed() const noexcept;

 private:
  PhaseRecord() = default;
  PhaseState eager_ = PhaseState::not_run, capture_ = PhaseState::not_run, replay_ = PhaseState::not_run;
  std::int64_t replays_ = 0;
  bool complete_ = false;
};

struct GroupOutcome {
  enum class Phase : std::uint8_t { before_eager, eager, capture, replay } phase = Phase::before_eager;
  std::int64_t replays = 0;  // the least of all ranks
  AttributedVerdict decision = Undecided{};
};
[[nodiscard]] std::string_view name_of(GroupOutcome::Phase) noexcept;

// A rank that was killed or never spoke is nullopt; a peer that was ended because another failed, its black box read,
// is observed (slots.md 10.5). `least_replays`: what the policy asks for before a graph counts as passed.
[[nodiscard]] GroupOutcome group_outcome(const std::vector<std::optional<PhaseRecord>>& ranks,
                                         std::int64_t least_replays = 2);

}  // namespace assay
