// norm.rmsnorm on the host model: out = x * (mean(x^2) + eps)^-1/2 * weight.
#include "kernels/host/rows.hpp"
#include "kernels/host/variants.hpp"

namespace host_kernels {
namespace {

struct Arguments {
  Rows x, weight, out;
  int64_t rows, hidden;
  double eps;
};

// Float64 keeps squares of 1e30 and rows of 16384 exact enough; four sums hide the latency of the additions.
template <class Cell>
double sum_of_squares(const Cell* x, int64_t step, int64_t count) {
  double sums[4] = {0, 0, 0, 0};
  int64_t i = 0;
  for (; i + 4 <= count; i += 4) {
    for (int lane = 0; lane < 4; ++lane) {
      const double value = to_float(x[(i + lane) * step]);
      sums[lane] += value * value;
    }
  }
  for (; i < count; ++i) {
    const double value = to_float(x[i * step]);
    sums[0] += value * value;
  }
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

template <class Cell>
void kernel(const void* memory, uint32_t block, uint32_t blocks) {
  const auto& a = *static_cast<const Arguments*>(memory);
  const RowRange range = rows_of_block(a.rows, block, blocks);
  const Cell* weight = a.weight.at<const Cell>(0);
  for (int64_t row = range.begin; row < range.end; ++row) {
    const Cell* x = a.x.at<const Cell>(row);
    Cell* out = a.out.at<Cell>(row);
    const double mean = sum_of_squares(x, a.x.step, a.hidden) / static_cast<double>(a.hidden);
    const double scale = 1.0 / __builtin_sqrt(mean + a.eps);
    for (int64_t i = 0; i < a.hidden; ++i) {
      const double value = to_float(x[i * a.x.step]) * scale * to_float(weight[i * a.weight.step]);
      store(out[i * a.out.step], static_cast<float>(value));
    }
  }
}

assay_status run(const assay_call* call, assay_in x, assay_in weight, assay_out out, double eps) {
  const int64_t rows = row_count(x), hidden = columns_of(x);
  if (columns_of(out) != hidden || columns_of(weight) != hidden || row_count(out) != rows || weight->ndim != 1) {
    return fail(call, ASSAY_ERROR, "rmsnorm: x and out are not (..., H) for weight (H)");
  }
  assay_host_kernel kernels[] = {nullptr, kernel<float>, kernel<Half>, kernel<Bfloat>};
  const assay_host_kernel chosen = kernels[static_cast<int>(cells_of(x))];
  if (chosen == nullptr || cells_of(x) != cells_of(out) || cells_of(x) != cells_of(weight)) {
    return fail(call, ASSAY_UNSUPPORTED, "rmsnorm: fp32, fp16 or bf16 throughout");
  }
  if (rows == 0 || hidden == 0) return ASSAY_OK;
  const Arguments arguments = {rows_of(x), rows_of(weight), rows_of(out), rows, hidden, eps};
  return call->host->launch(call->host_stream, chosen, blocks_for(rows), &arguments, sizeof arguments);
}

constexpr assay_variant describe() {
  assay_variant variant = right_variant("norm.rmsnorm", "host.rows");
  variant.entry.rmsnorm = run;
  return variant;
}

}  // namespace

constinit const assay_variant rmsnorm = describe();

}  // namespace host_kernels
