// collective.ar_residual_rmsnorm on the host model, in two forms: around the group's own collective, and as one kernel
// over symmetric memory.
#include "kernels/host/residual_norm.hpp"
#include "kernels/host/variants.hpp"

namespace host_kernels {
namespace {

struct Copied {
  Rows x;

  template <class Cell>
  void row(int64_t row, int64_t hidden, float* to) const {
    const Cell* from = x.at<const Cell>(row);
    for (int64_t i = 0; i < hidden; ++i) to[i] = to_float(from[i * x.step]);
  }
};

template <assay_status (*reduce)(const assay_call*, NormArguments, const Copied&, Cells)>
assay_status entry(const assay_call* call, assay_in x, assay_in residual, assay_in weight, double eps,
                   assay_out out_norm, assay_out out_residual) {
  NormArguments norm{};
  const assay_status status = describe_norm(call, residual, weight, eps, out_norm, out_residual, &norm);
  if (status != ASSAY_OK) return status;
  if (row_count(x) != norm.rows || columns_of(x) != norm.hidden || cells_of(x) != cells_of(residual))
    return fail(call, ASSAY_ERROR, "ar_residual_rmsnorm: x and residual differ in shape or dtype");
  return reduce(call, norm, Copied{rows_of(x)}, cells_of(x));
}

constexpr assay_variant group_variant() {
  assay_variant variant = right_variant("collective.ar_residual_rmsnorm", "host.group", R"({"dtype": "float32"})");
  variant.entry.ar_residual_rmsnorm = entry<reduce_through_group<Copied>>;
  variant.workspace = workspace_of<5, 1, two_of_all_rows>;
  return variant;
}

constexpr assay_variant fused_variant() {
  assay_variant variant =
      right_variant("collective.ar_residual_rmsnorm", "host.fused", R"({"dtype": ["bfloat16", "float16"]})");
  variant.entry.ar_residual_rmsnorm = entry<reduce_in_kernel<Copied>>;
  variant.workspace = workspace_of<5, 1, one_row>;
  variant.init = join_peers;
  variant.destroy = part_peers;
  return variant;
}

}  // namespace

constinit const assay_variant ar_residual_rmsnorm = group_variant();
constinit const assay_variant ar_residual_rmsnorm_fused = fused_variant();

}  // namespace host_kernels
