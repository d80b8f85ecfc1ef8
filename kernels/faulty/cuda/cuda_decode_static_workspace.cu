// The splits' partial results lie in one static device buffer that calls on all streams share; a call that runs beside
// another one merges the other's. A pause between the two kernels makes the overlap sure.
// Slot: attention.decode. Caught by: stream.concurrent. Source: rules.md.
#include "attention.cuh"

constexpr std::size_t kFloats = std::size_t{1} << 23;
static __device__ float shared_partial[kFloats];

static assay_status entry(const assay_call* call, FAULTY_DECODE_ARGUMENTS) {
  faulty::Decode a = faulty::decode_args(call, FAULTY_DECODE_NAMES);
  if (faulty::empty(a)) return ASSAY_OK;
  if (faulty::partial_floats(a.out.rows, a.dim) > kFloats) return faulty::run_decode<faulty::RightDecode>(call, a);
  void* partial = nullptr;
  const cudaError_t error = cudaGetSymbolAddress(&partial, shared_partial);
  if (error != cudaSuccess) return faulty::check(call, error);
  a.partial = static_cast<float*>(partial);
  faulty::split_kernel<faulty::RightDecode><<<faulty::split_blocks(a), faulty::kThreads, 0, call->cuda_stream>>>(a);
  faulty::delay_kernel<<<1, 1, 0, call->cuda_stream>>>(500);
  faulty::merge_kernel<<<faulty::blocks(a.out), faulty::kThreads, 0, call->cuda_stream>>>(a);
  return faulty::launched(call);
}

FAULTY_DECODE(entry, faulty::split_kernel<faulty::RightDecode>, faulty::merge_kernel, faulty::delay_kernel)
