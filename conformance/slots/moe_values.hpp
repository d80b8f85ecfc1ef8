// moe_values.hpp: what the tensors of the expert slots hold: routing, dense weights, NVFP4 weights (spec/slots.md 5.7,
// 6).
//
// Promises: pure in (case, key). Weights and their scales follow from the case alone, whatever the key, so that the
// tensors of one NVFP4 layer belong together. Under plain recipes pre-activations are about N(0, 1) and outputs have
// an RMS of about 1 to 2. A published NVFP4 layer (1 GB) takes about a second on one core.
// Not promised: that NVFP4 weights are roundings of any dense weights. They are drawn from the quantised distribution.
// Who calls it: the slot files of the expert slots.
//
//   in("topk_ids", {"tokens", "top_k"}).typed(DType::i32).filled(moe::fill_ids)
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "assay/slot.hpp"

namespace assay::moe {

[[nodiscard]] bool is_m3(const Case&);       // knob profile: m3_dense or m3_nvfp4
[[nodiscard]] bool is_nvfp4(const Case&);    // m3_nvfp4
[[nodiscard]] bool has_shared(const Case&);  // the last expert is in every row with weight 1

[[nodiscard]] const std::vector<RecipeSpec>& recipes();  // of both expert slots
bool fill_x(const Case&, std::uint64_t key, const TensorView&);
bool fill_ids(const Case&, std::uint64_t key, const TensorView&);
bool fill_routing_weights(const Case&, std::uint64_t key, const TensorView&);

enum class Matrix : std::uint8_t { w13, w2 };
[[nodiscard]] Fill dense_weights(Matrix);
[[nodiscard]] Fill packed_weights(Matrix);
[[nodiscard]] Fill block_scales(Matrix);
[[nodiscard]] Fill alphas(Matrix);          // g1_alphas, g2_alphas: activation scale times outer scale
[[nodiscard]] Fill inverse_scales(Matrix);  // one over the activation scale

// The cells of experts that no token chose, of a weight tensor with experts as its first extent.
[[nodiscard]] Excluded unchosen_experts(std::string_view weight);

// Moves the places of each token, with their weights; a shared expert stays where it is.
bool reorder_places(const Case&, std::uint64_t key, std::map<std::string, TensorView>& inputs);
bool double_routing_weights(const Case&, std::uint64_t key, std::map<std::string, TensorView>& inputs);

}  // namespace assay::moe
