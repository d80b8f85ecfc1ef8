// Under capture the kernel is captured and also run at once, on a stream of the library's own: work escapes the graph.
// Slot: norm.rmsnorm. Caught by: graph.nothing_runs_at_capture. Source: spec/README.md.
#include "faulty.cuh"

static assay_status entry(const assay_call* call, assay_in x, assay_in weight, assay_out out, double eps) {
  const faulty::Rmsnorm a = faulty::rmsnorm_args(x, weight, out, eps);
  if (a.out.rows > 0 && faulty::capturing(call)) {
    const faulty::RelaxedCapture relaxed;
    const cudaStream_t side = faulty::side_stream();
    faulty::rmsnorm_kernel<<<faulty::blocks(a.out), faulty::kThreads, 0, side>>>(a);
    const cudaError_t error = cudaStreamSynchronize(side);
    if (error != cudaSuccess) return faulty::check(call, error);
  }
  return faulty::run_rmsnorm(call, a);
}

FAULTY_RMSNORM(entry, faulty::rmsnorm_kernel)
