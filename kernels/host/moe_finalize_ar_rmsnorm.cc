// collective.moe_finalize_ar_rmsnorm on the host model, in two forms: around the group's own collective, and as one
// kernel over symmetric memory. Each rank finalises its own rows first: a row of H floats a token is all that travels.
#include "kernels/host/residual_norm.hpp"
#include "kernels/host/variants.hpp"

namespace host_kernels {
namespace {

struct Finalised {
  Rows gemm_out;
  const int32_t* map;
  const float* scales;
  int64_t map_step, scale_pitch, scale_step;
  int64_t tokens, places;  // tokens: all of them, and the map's K-major stride

  template <class Cell>
  void row(int64_t token, int64_t hidden, float* to) const {
    for (int64_t i = 0; i < hidden; ++i) to[i] = 0;
    for (int64_t k = 0; k < places; ++k) {
      const float scale = scales[token * scale_pitch + k * scale_step];
      const Cell* from = gemm_out.at<const Cell>(map[(token + k * tokens) * map_step]);
      for (int64_t i = 0; i < hidden; ++i) to[i] += scale * to_float(from[i * gemm_out.step]);
    }
  }
};

template <assay_status (*reduce)(const assay_call*, NormArguments, const Finalised&, Cells)>
assay_status entry(const assay_call* call, assay_in gemm_out, assay_in row_map, assay_in scales, assay_in residual,
                   assay_in weight, double eps, assay_out out_norm, assay_out out_residual) {
  NormArguments norm{};
  const assay_status status = describe_norm(call, residual, weight, eps, out_norm, out_residual, &norm);
  if (status != ASSAY_OK) return status;
  const int64_t tokens = row_count(scales), places = columns_of(scales);
  if (tokens < norm.rows || row_map->ndim != 1 || columns_of(row_map) != tokens * places ||
      row_count(gemm_out) != tokens * places || columns_of(gemm_out) != norm.hidden ||
      cells_of(gemm_out) != cells_of(residual))
    return fail(call, ASSAY_ERROR, "moe_finalize: not (T_exp*K,H), (T_exp*K) and (T_exp,K) for T_exp >= T");
  const Finalised part = {rows_of(gemm_out),
                          data_of<int32_t>(row_map),
                          data_of<float>(scales),
                          row_map->strides[0],
                          scales->strides[0],
                          scales->strides[1],
                          tokens,
                          places};
  return reduce(call, norm, part, cells_of(gemm_out));
}

constexpr assay_variant group_variant() {
  assay_variant variant = right_variant("collective.moe_finalize_ar_rmsnorm", "host.group", R"({"dtype": "float32"})");
  variant.entry.moe_finalize_ar_rmsnorm = entry<reduce_through_group<Finalised>>;
  variant.workspace = workspace_of<7, 3, two_of_all_rows>;
  return variant;
}

constexpr assay_variant fused_variant() {
  assay_variant variant =
      right_variant("collective.moe_finalize_ar_rmsnorm", "host.fused", R"({"dtype": ["bfloat16", "float16"]})");
  variant.entry.moe_finalize_ar_rmsnorm = entry<reduce_in_kernel<Finalised>>;
  variant.workspace = workspace_of<7, 3, one_row>;
  variant.init = join_peers;
  variant.destroy = part_peers;
  return variant;
}

}  // namespace

constinit const assay_variant moe_finalize_ar_rmsnorm = group_variant();
constinit const assay_variant moe_finalize_ar_rmsnorm_fused = fused_variant();

}  // namespace host_kernels
