// The row length is copied to the device from the host's shape array, stream-ordered: captured, the copy reads the
// array at every replay, long after it died.
// Slot: activation.silu_and_mul. Caught by: graph.host_gone. Source: rules.md.
#include "faulty.cuh"

static __device__ std::int64_t device_columns;

static __global__ void told_silu_kernel(faulty::Silu a) {
  // Bounded by the true length, so that garbage leaves cells unwritten and touches nothing else.
  const std::int64_t columns = device_columns < a.out.columns ? device_columns : a.out.columns;
  for (std::int64_t row = blockIdx.x; row < a.out.rows; row += gridDim.x) {
    for (std::int64_t c = threadIdx.x; c < columns; c += blockDim.x) a.out.set(row, c, faulty::silu_cell(a, row, c));
  }
}

static assay_status entry(const assay_call* call, assay_in x, assay_out out) {
  const faulty::Silu a = faulty::silu_args(x, out);
  if (a.out.rows == 0) return ASSAY_OK;
  void* columns = nullptr;
  cudaError_t error = cudaGetSymbolAddress(&columns, device_columns);
  if (error == cudaSuccess)
    error = cudaMemcpyAsync(columns, &out->shape[out->ndim - 1], sizeof(std::int64_t), cudaMemcpyHostToDevice,
                            call->cuda_stream);
  if (error != cudaSuccess) return faulty::check(call, error);
  told_silu_kernel<<<faulty::blocks(a.out), faulty::kThreads, 0, call->cuda_stream>>>(a);
  return faulty::launched(call);
}

FAULTY_SERIAL_SILU(entry, told_silu_kernel)
