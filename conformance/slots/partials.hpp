// partials.hpp: what the ranks of a collective contribute: values of each rank's own, and probes that need all of them.
//
// Promises: pure in (case, key); one rank's values follow from another's where the probe says so. Sums of 16 ranks
// stay finite in every run dtype.
// Who uses it: the slot files of collectives.
#pragma once

#include <string>
#include <vector>

#include "assay/slot.hpp"

namespace assay {

// Probes of their own: negative_zero (a quarter of the cells -0, and one rank nothing else: data-as-signal protocols
// take -0 for "not arrived"), cancellation (rank 1 is minus rank 0 plus fresh values), rank_digits (rank r contributes
// 2^r times 1, 2 or 3: a sum names who is missing, or there twice), large, spike and tag (of one sign a cell). Others are the generic recipes, with a key a rank.
[[nodiscard]] bool fill_partials(const Case&, int rank, std::uint64_t key, const TensorView&);

[[nodiscard]] std::vector<RecipeSpec> partial_recipes();

// Twice the named partials, twice the outputs; bitwise, since the factor is a power of two.
[[nodiscard]] RelationSpec partials_doubled(std::vector<std::string> inputs);

}  // namespace assay
