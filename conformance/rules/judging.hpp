// judging.hpp: what the rules of this folder share: comparing a call's outputs, and finding differences between calls.
//
// Promises: pure functions of what was seen. Each returns the failure that it found, or nothing.
#pragma once

#include <optional>
#include <string>

#include "assay/rule.hpp"

namespace assay::judging {

// The slot's own comparator, on every output of a call. Cells that still carry their poison count as wrong.
[[nodiscard]] std::optional<Judgement> mismatch(const Observation&, const CallSeen&, Reason reason = Reason::mismatch);

// The first of the calls that fails the comparator.
[[nodiscard]] std::optional<Judgement> any_mismatch(const Observation&, Reason reason = Reason::mismatch);

// Logical cells that differ bitwise between two tensors of one shape; empty where they are equal.
[[nodiscard]] std::string bitwise_difference(const Tensor& a, const Tensor& b);

// As far as the variant promises: bitwise where it is DETERMINISTIC and the two are the same arithmetic in the same order
// (`exact`), else within the slot's tolerance of each other.
[[nodiscard]] std::optional<Judgement> differ(const Observation&, const OutputSeen& a, const Tensor& b, Reason reason,
                                              const std::string& label, bool exact = true);

// Whether any cell of an output is not what another call's reference allows; cheap, and says no more.
[[nodiscard]] bool beyond_tolerance(const Tensor& actual, const Tensor& expected, DType run);

// Bytes of an input that are not as they were pushed, as a failure; `what` names it: "input", "raw weight".
[[nodiscard]] std::optional<Judgement> written(const InputSeen&, const std::string& what, const std::string& label);

// Cells that still hold their poison, as a failure.
[[nodiscard]] std::optional<Judgement> unwritten(const CallSeen&);

// The named rows of a tensor that holds `outer` times all rows, as (outer, rows, cells of a row).
[[nodiscard]] Tensor rows_of(const Tensor&, std::int64_t outer, std::int64_t rows,
                             const std::vector<std::int64_t>& which);

// Whether any call of the observation is evidence about numbers.
[[nodiscard]] bool informative(const Observation&);

}  // namespace assay::judging
