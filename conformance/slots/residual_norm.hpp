// residual_norm.hpp: what the two collectives that end with a residual and an RMS norm have in common: values, probes,
// relations (spec/slots.md 5.10, 5.11).
//
// Promises: pure in (case, key). Sums of 16 ranks and a residual stay finite in every run dtype, and so do the norms.
// Who uses it: the slot files of those collectives.
#pragma once

#include <string>
#include <vector>

#include "assay/slot.hpp"

namespace assay {

// Below so many tokens fused kernels commonly reduce in one shot, from there on in two.
inline constexpr std::int64_t kTwoShotTokens = 48;

// partial_recipes, and residual_dominant: a quarter of the rows have a residual of a hundred times the usual size.
[[nodiscard]] std::vector<RecipeSpec> residual_norm_recipes();
bool fill_residual(const Case&, std::uint64_t key, const TensorView&);
// Between 0.75 and 1.25; names its columns under the recipe "tag".
bool fill_norm_weight(const Case&, std::uint64_t key, const TensorView&);

// Every cell of the named inputs negated, both outputs negated.
[[nodiscard]] RelationSpec signs_changed(std::vector<std::string> inputs);

}  // namespace assay
