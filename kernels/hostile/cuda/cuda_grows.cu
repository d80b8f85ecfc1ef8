// Right, and keeps 2 MiB more of the device with every call, up to 4 GiB.
#include "hostile.cuh"

static assay_status entry(const assay_call* call, assay_in x, assay_out out) {
  constexpr std::size_t step = std::size_t{2} << 20, most = std::size_t{4} << 30;
  static std::size_t held = 0;
  const faulty::RelaxedCapture relaxed;
  void* more = nullptr;
  if (held < most && cudaMalloc(&more, step) == cudaSuccess) held += step;
  return faulty::run_silu(call, faulty::silu_args(x, out));
}

HOSTILE_LIBRARY(entry, faulty::silu_kernel)
