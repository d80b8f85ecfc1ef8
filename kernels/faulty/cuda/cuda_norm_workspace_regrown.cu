// The library's own workspace grows by allocating a larger block and freeing the old one, whose address earlier graphs
// hold; their next replay uses freed memory.
// Slot: norm.rmsnorm. Caught by: graph.workspace_moves. Source: FAULT-030.
#include "faulty.cuh"

static float* workspace = nullptr;
static std::int64_t workspace_rows = 0;

static assay_status entry(const assay_call* call, assay_in x, assay_in weight, assay_out out, double eps) {
  const faulty::Rmsnorm a = faulty::rmsnorm_args(x, weight, out, eps);
  if (a.out.rows == 0) return ASSAY_OK;
  if (a.out.rows > workspace_rows) {
    // Blocks of several MiB: the driver unmaps those when they are freed, smaller ones it keeps mapped for later.
    float* grown = nullptr;
    const cudaError_t error = cudaMalloc(&grown, (std::size_t{8} << 20) + sizeof(float) * a.out.rows);
    if (error != cudaSuccess) return faulty::check(call, error);
    cudaFree(workspace);
    workspace = grown;
    workspace_rows = a.out.rows;
  }
  const unsigned blocks = faulty::blocks(a.out);
  faulty::scales_kernel<<<blocks, faulty::kThreads, 0, call->cuda_stream>>>(a, workspace);
  faulty::apply_kernel<<<blocks, faulty::kThreads, 0, call->cuda_stream>>>(a, workspace);
  return faulty::launched(call);
}

FAULTY_SERIAL_RMSNORM(entry, faulty::scales_kernel, faulty::apply_kernel)
