// activation.silu_and_mul on the host model: out[i] = x[i] / (1 + exp(-x[i])) * x[d + i], in two forms: cell by cell,
// and in vectors of cells for many wide rows.
#include "kernels/host/rows.hpp"
#include "kernels/host/variants.hpp"

namespace host_kernels {
namespace {

struct Arguments {
  Rows x, out;
  int64_t rows, d;
};

// Through exp of a negative number, which cannot overflow: 1 / (1 + exp(-x)) is 0 below -88.7 where silu(-89), about
// -2e-37, is still a normal number.
float silu(float x) {
  const float e = __builtin_expf(-__builtin_fabsf(x));
  return (x < 0 ? x * e : x) / (1.0f + e);
}

template <class Cell>
void kernel(const void* memory, uint32_t block, uint32_t blocks) {
  const auto& a = *static_cast<const Arguments*>(memory);
  const RowRange range = rows_of_block(a.rows, block, blocks);
  for (int64_t row = range.begin; row < range.end; ++row) {
    const Cell* gate = a.x.at<const Cell>(row);
    const Cell* up = gate + a.d * a.x.step;
    Cell* out = a.out.at<Cell>(row);
    for (int64_t i = 0; i < a.d; ++i) {
      const float x = to_float(gate[i * a.x.step]);
      store(out[i * a.out.step], silu(x) * to_float(up[i * a.x.step]));
    }
  }
}

// Many rows are at least two, and of those the columns lie next to each other.
template <class Cell>
void vector_kernel(const void* memory, uint32_t block, uint32_t blocks) {
  constexpr int64_t width = 8;
  const auto& a = *static_cast<const Arguments*>(memory);
  const RowRange range = rows_of_block(a.rows, block, blocks);
  for (int64_t row = range.begin; row < range.end; ++row) {
    const Cell* gate = a.x.at<const Cell>(row);
    const Cell* up = gate + a.d;
    Cell* out = a.out.at<Cell>(row);
    int64_t i = 0;
    for (; i + width <= a.d; i += width) {
      float g[width], u[width];
      for (int64_t k = 0; k < width; ++k) g[k] = to_float(gate[i + k]);
      for (int64_t k = 0; k < width; ++k) u[k] = to_float(up[i + k]);
      for (int64_t k = 0; k < width; ++k) store(out[i + k], silu(g[k]) * u[k]);
    }
    for (; i < a.d; ++i) store(out[i], silu(to_float(gate[i])) * to_float(up[i]));
  }
}

template <bool in_vectors>
assay_status run(const assay_call* call, assay_in x, assay_out out) {
  if (columns_of(x) != 2 * columns_of(out) || row_count(x) != row_count(out)) {
    return fail(call, ASSAY_ERROR, "silu_and_mul: x is not (..., 2d) for out (..., d)");
  }
  const assay_host_kernel plain[] = {nullptr, kernel<float>, kernel<Half>, kernel<Bfloat>};
  const assay_host_kernel vector[] = {nullptr, vector_kernel<float>, vector_kernel<Half>, vector_kernel<Bfloat>};
  const assay_host_kernel chosen = (in_vectors ? vector : plain)[static_cast<int>(cells_of(x))];
  if (chosen == nullptr || cells_of(x) != cells_of(out)) {
    return fail(call, ASSAY_UNSUPPORTED, "silu_and_mul: fp32, fp16 or bf16 throughout");
  }
  const int64_t rows = row_count(x);
  if (rows == 0 || columns_of(out) == 0) return ASSAY_OK;
  const Arguments arguments = {rows_of(x), rows_of(out), rows, columns_of(out)};
  return call->host->launch(call->host_stream, chosen, blocks_for(rows), &arguments, sizeof arguments);
}

template <bool in_vectors>
constexpr assay_variant describe(const char* id, const char* capabilities) {
  assay_variant variant = right_variant("activation.silu_and_mul", id, capabilities);
  variant.entry.silu_and_mul = run<in_vectors>;
  return variant;
}

}  // namespace

// Rows of 128 columns and more count as wide, 8 rows and more as many.
constinit const assay_variant silu_and_mul = describe<false>("host.rows", R"({"last_dim": {"max": 255}})");
constinit const assay_variant silu_and_mul_few =
    describe<false>("host.few_rows", R"({"last_dim": {"min": 256}, "num_tokens": {"max": 7}})");
constinit const assay_variant silu_and_mul_vector =
    describe<true>("host.vector", R"({"last_dim": {"min": 256}, "num_tokens": {"min": 8}})");

}  // namespace host_kernels
