// Every call allocates scratch for its row scales, legally during capture too, and frees none of it.
// Slot: norm.rmsnorm. Caught by: graph.no_growth. Source: rules.md.
#include "faulty.cuh"

static assay_status entry(const assay_call* call, assay_in x, assay_in weight, assay_out out, double eps) {
  const faulty::Rmsnorm a = faulty::rmsnorm_args(x, weight, out, eps);
  if (a.out.rows == 0) return ASSAY_OK;
  const faulty::RelaxedCapture relaxed;
  float* scratch = nullptr;
  const cudaError_t error = cudaMalloc(&scratch, (std::size_t{2} << 20) + sizeof(float) * a.out.rows);
  if (error != cudaSuccess) return faulty::check(call, error);
  const unsigned blocks = faulty::blocks(a.out);
  faulty::scales_kernel<<<blocks, faulty::kThreads, 0, call->cuda_stream>>>(a, scratch);
  faulty::apply_kernel<<<blocks, faulty::kThreads, 0, call->cuda_stream>>>(a, scratch);
  return faulty::launched(call);
}

FAULTY_RMSNORM(entry, faulty::scales_kernel, faulty::apply_kernel)
