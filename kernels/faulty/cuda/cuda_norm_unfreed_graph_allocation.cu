// Scratch comes from the stream-ordered allocator and is never freed: eager calls leak it, and a graph that holds such
// an allocation can be launched once.
// Slot: norm.rmsnorm. Caught by: graph.no_growth. Source: rules.md.
#include "faulty.cuh"

static assay_status entry(const assay_call* call, assay_in x, assay_in weight, assay_out out, double eps) {
  const faulty::Rmsnorm a = faulty::rmsnorm_args(x, weight, out, eps);
  if (a.out.rows == 0) return ASSAY_OK;
  void* scratch = nullptr;
  const cudaError_t error =
      cudaMallocAsync(&scratch, (std::size_t{2} << 20) + sizeof(float) * a.out.rows, call->cuda_stream);
  if (error != cudaSuccess) return faulty::check(call, error);
  const unsigned blocks = faulty::blocks(a.out);
  faulty::scales_kernel<<<blocks, faulty::kThreads, 0, call->cuda_stream>>>(a, static_cast<float*>(scratch));
  faulty::apply_kernel<<<blocks, faulty::kThreads, 0, call->cuda_stream>>>(a, static_cast<float*>(scratch));
  return faulty::launched(call);
}

FAULTY_RMSNORM(entry, faulty::scales_kernel, faulty::apply_kernel)
