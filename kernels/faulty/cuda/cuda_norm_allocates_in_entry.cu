// Every call allocates its scratch with cudaMalloc, which capture forbids, and frees that of the call before.
// Slot: norm.rmsnorm. Caught by: graph.captures. Source: slots.md 14.
#include "faulty.cuh"

static assay_status entry(const assay_call* call, assay_in x, assay_in weight, assay_out out, double eps) {
  static float* scratch = nullptr;
  const faulty::Rmsnorm a = faulty::rmsnorm_args(x, weight, out, eps);
  if (a.out.rows == 0) return ASSAY_OK;
  float* fresh = nullptr;
  const cudaError_t error = cudaMalloc(&fresh, sizeof(float) * a.out.rows);
  if (error != cudaSuccess) return faulty::check(call, error);
  cudaFree(scratch);
  scratch = fresh;
  const unsigned blocks = faulty::blocks(a.out);
  faulty::scales_kernel<<<blocks, faulty::kThreads, 0, call->cuda_stream>>>(a, scratch);
  faulty::apply_kernel<<<blocks, faulty::kThreads, 0, call->cuda_stream>>>(a, scratch);
  return faulty::launched(call);
}

FAULTY_RMSNORM(entry, faulty::scales_kernel, faulty::apply_kernel)
