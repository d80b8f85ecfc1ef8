// Computes on the host, from an input that it copies there, and copies the answer back: in a capture it is the answer
// of the eager call before.
#include <cmath>
#include <vector>

#include "hostile.cuh"

static assay_status entry(const assay_call* call, assay_in x, assay_out out) {
  const faulty::Silu a = faulty::silu_args(x, out);
  constexpr std::int64_t most_cells = 1 << 16;
  static float* answer = nullptr;
  const std::int64_t cells = a.out.rows * a.out.columns, width = a.x.columns;
  const bool plain = a.x.type.bits == 32 && a.x.leading <= 1 && a.out.leading <= 1 && cells > 0 && cells <= most_cells &&
                     (a.x.rows == 1 || a.x.stride[0] == width) && (a.out.rows == 1 || a.out.stride[0] == a.out.columns);
  if (!plain) return faulty::run_silu(call, a);
  if (!answer && cudaMallocHost(&answer, most_cells * sizeof(float)) != cudaSuccess) return faulty::launched(call);
  if (!faulty::capturing(call)) {
    std::vector<float> input(static_cast<std::size_t>(a.x.rows * width));
    cudaMemcpy(input.data(), a.x.data, input.size() * sizeof(float), cudaMemcpyDeviceToHost);
    for (std::int64_t i = 0; i < cells; ++i) {
      const std::int64_t at = i / a.out.columns * width + i % a.out.columns;
      const double gate = static_cast<double>(input[static_cast<std::size_t>(at)]);
      const double up = static_cast<double>(input[static_cast<std::size_t>(at + a.out.columns)]);
      answer[i] = static_cast<float>(gate / (1.0 + std::exp(-gate)) * up);
    }
  }
  const auto bytes = static_cast<std::size_t>(cells) * sizeof(float);
  return faulty::check(call, cudaMemcpyAsync(a.out.data, answer, bytes, cudaMemcpyHostToDevice, call->cuda_stream));
}

HOSTILE_LIBRARY(entry, faulty::silu_kernel)
