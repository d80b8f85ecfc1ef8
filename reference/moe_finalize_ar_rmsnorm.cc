#include "reference/moe_finalize_ar_rmsnorm.hpp"

#include <ATen/ATen.h>

#include <stdexcept>
#include <vector>

#include "reference/borrow.hpp"
#include "reference/residual_norm.hpp"

namespace assay::reference {
namespace {

// Rows of gemm_out of the kept tokens, token by token, place by place.
std::vector<std::int64_t> kept_rows(const TensorView& map, std::int64_t tokens, std::int64_t all_tokens,
                                    std::int64_t places) {
  std::vector<std::int64_t> rows;
  rows.reserve(static_cast<std::size_t>(tokens * places));
  for (std::int64_t t = 0; t < tokens; ++t)
    for (std::int64_t k = 0; k < places; ++k) {
      rows.push_back(map.at<std::int32_t>({t + k * all_tokens}));
      if (rows.back() < 0 || rows.back() >= all_tokens * places)
        throw std::invalid_argument("moe_finalize: row_map names no row");
    }
  return rows;
}

}  // namespace
}  // namespace assay::reference

void assay_reference_moe_finalize_ar_rmsnorm(const assay::ReferenceCall& call, assay::ReferenceResult& result) {
  using namespace assay;
  using namespace assay::reference;
  const c10::InferenceMode no_autograd;
  const TensorView &map = call.inputs.at("row_map"), &scales = call.inputs.at("scales");
  const std::int64_t all_tokens = scales.shape[0], places = scales.shape[1];
  const std::int64_t tokens = call.inputs.at("residual").shape[0], hidden = call.inputs.at("residual").shape[1];
  if (call.ranks.empty() || tokens > all_tokens || map.shape != Extents{all_tokens * places})
    throw std::invalid_argument("moe_finalize: shapes do not fit each other");
  const std::vector<std::int64_t> rows = kept_rows(map, tokens, all_tokens, places);
  const auto on = compute_device<at::Device>(static_cast<double>(call.ranks.size() * rows.size()) *
                                             static_cast<double>(2 * hidden));
  const at::Tensor index = at::tensor(rows, at::kLong);
  const at::Tensor share =
      widened(borrow<at::Tensor>(scales).narrow(0, 0, tokens), on).view({tokens, 1, places});
  at::Tensor sum = at::zeros({tokens, 1, hidden}, share.options()), magnitude = at::zeros_like(sum);
  for (const auto& inputs : call.ranks) {
    const at::Tensor all = borrow<at::Tensor>(inputs.at("gemm_out"));
    if (all.dim() != 2 || all.size(0) != all_tokens * places || all.size(1) != hidden)
      throw std::invalid_argument("moe_finalize: gemm_out is not (T_exp*K,H)");
    const at::Tensor kept = widened(all.index_select(0, index), on).view({tokens, places, hidden});
    sum.baddbmm_(share, kept);
    magnitude.baddbmm_(share.abs(), kept.abs());
  }
  append_residual_norm(call, adopt(sum.view({tokens, hidden})), adopt(magnitude.view({tokens, hidden})), result);
}
