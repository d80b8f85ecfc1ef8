// harness/result/decision.hpp: a verdict together with whose it is, as a type in which FAIL can be nobody's but the
// candidate's.
//
// Promises: PASS is nobody's, FAIL the candidate's, NO_DECISION the validator's, the infrastructure's or the
// measurement's (routing-and-targets.md 10.1); no other pair can be written down.
// Who uses it: receipts, the failure table, evidence products, results.
//
//   AttributedVerdict d = CandidateFailed{"never_executed"};
//   name_of(verdict_of(d));            // "FAIL"
//   name_of(attribution_of(d));        // "candidate"
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "harness/result/verdict.hpp"

namespace assay {

struct Passed {
  friend bool operator==(const Passed&, const Passed&) = default;
};
struct CandidateFailed {
  std::string why;
  friend bool operator==(const CandidateFailed&, const CandidateFailed&) = default;
};
struct Undecided {
  enum class By : std::uint8_t { validator, infrastructure, measurement } by = By::infrastructure;
  std::string why;
  friend bool operator==(const Undecided&, const Undecided&) = default;
};
using AttributedVerdict = std::variant<Passed, CandidateFailed, Undecided>;

enum class Attribution : std::uint8_t { none, candidate, validator, infrastructure, measurement };
[[nodiscard]] std::string_view name_of(Attribution) noexcept;
[[nodiscard]] Attribution attribution_from(std::string_view);  // throws std::invalid_argument

[[nodiscard]] Verdict verdict_of(const AttributedVerdict&) noexcept;  // PASS, FAIL or NO_DECISION
[[nodiscard]] Attribution attribution_of(const AttributedVerdict&) noexcept;
[[nodiscard]] const std::string& why_of(const AttributedVerdict&) noexcept;

}  // namespace assay
