// Under capture the host reads the lengths and passes them as kernel arguments, so that replays keep the lengths of the
// capture whatever the batch has become.
// Slot: attention.decode. Caught by: graph.follows_inputs. Source: FAULT-031.
#include "attention.cuh"

constexpr int kBaked = 128;
struct Baked {
  faulty::Decode decode;
  std::int32_t lengths[kBaked];
};

static __global__ void read_kernel(const std::int32_t* lengths, std::int32_t* to, int count) {
  for (int i = threadIdx.x; i < count; i += blockDim.x) to[i] = lengths[i];
}

static __global__ void baked_split_kernel(const __grid_constant__ Baked baked) {
  faulty::Decode a = baked.decode;
  a.lengths = baked.lengths;
  for (std::int64_t i = blockIdx.x; i < a.batch * a.q_heads * faulty::kSplits; i += gridDim.x)
    faulty::decode_split<faulty::RightDecode>(a, i / faulty::kSplits, i % faulty::kSplits);
}

static __device__ std::int32_t seen[kBaked];

static assay_status entry(const assay_call* call, FAULTY_DECODE_ARGUMENTS) {
  const faulty::Decode a = faulty::decode_args(call, FAULTY_DECODE_NAMES);
  if (faulty::empty(a) || a.batch > kBaked || !faulty::capturing(call))
    return faulty::run_decode<faulty::RightDecode>(call, a);
  Baked baked{};
  baked.decode = a;
  {
    const faulty::RelaxedCapture relaxed;
    const cudaStream_t side = faulty::side_stream();
    void* at = nullptr;
    cudaGetSymbolAddress(&at, seen);
    read_kernel<<<1, kBaked, 0, side>>>(a.lengths, static_cast<std::int32_t*>(at), static_cast<int>(a.batch));
    cudaMemcpyAsync(baked.lengths, at, sizeof baked.lengths, cudaMemcpyDeviceToHost, side);
    const cudaError_t error = cudaStreamSynchronize(side);
    if (error != cudaSuccess) return faulty::check(call, error);
  }
  baked_split_kernel<<<faulty::split_blocks(a), faulty::kThreads, 0, call->cuda_stream>>>(baked);
  faulty::merge_kernel<<<faulty::blocks(a.out), faulty::kThreads, 0, call->cuda_stream>>>(a);
  return faulty::launched(call);
}

FAULTY_DECODE(entry, faulty::split_kernel<faulty::RightDecode>, faulty::merge_kernel, read_kernel, baked_split_kernel)
