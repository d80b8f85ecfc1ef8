// Row scales live in one static device buffer that calls on all streams share; a call that runs beside another one
// applies the other's scales. A pause between the two kernels makes the overlap sure.
// Slot: norm.rmsnorm. Caught by: stream.concurrent. Source: rules.md.
#include "faulty.cuh"

constexpr int kRows = 1 << 20;
static __device__ float shared_scales[kRows];

static assay_status entry(const assay_call* call, assay_in x, assay_in weight, assay_out out, double eps) {
  const faulty::Rmsnorm a = faulty::rmsnorm_args(x, weight, out, eps);
  if (a.out.rows == 0 || a.out.rows > kRows) return faulty::run_rmsnorm(call, a);
  void* scales = nullptr;
  const cudaError_t error = cudaGetSymbolAddress(&scales, shared_scales);
  if (error != cudaSuccess) return faulty::check(call, error);
  const unsigned blocks = faulty::blocks(a.out);
  faulty::scales_kernel<<<blocks, faulty::kThreads, 0, call->cuda_stream>>>(a, static_cast<float*>(scales));
  faulty::delay_kernel<<<1, 1, 0, call->cuda_stream>>>(500);
  faulty::apply_kernel<<<blocks, faulty::kThreads, 0, call->cuda_stream>>>(a, static_cast<float*>(scales));
  return faulty::launched(call);
}

FAULTY_RMSNORM(entry, faulty::rmsnorm_kernel, faulty::scales_kernel, faulty::delay_kernel, faulty::apply_kernel)
