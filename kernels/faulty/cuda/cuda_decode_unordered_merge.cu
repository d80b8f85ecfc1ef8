// Splits are merged by atomics in the order in which they arrive, all against one bound of the logits, while the
// variant says DETERMINISTIC. A wait drawn from the clock makes the order as loose on an idle device as on a busy one.
// Slot: attention.decode. Caught by: relation.repeatable. Source: rules.md.
#include "attention.cuh"

// A row's first split holds the sums of all; the maxima stay where they were.
static __global__ void add_kernel(faulty::Decode a) {
  for (std::int64_t i = blockIdx.x; i < a.batch * a.q_heads * faulty::kSplits; i += gridDim.x) {
    const std::int64_t row = i / faulty::kSplits;
    float top = -INFINITY;
    for (std::int64_t split = 0; split < faulty::kSplits; ++split) top = fmaxf(top, a.partial_of(row, split)[0]);
    const float* from = a.partial_of(row, i % faulty::kSplits);
    const float share = from[0] > -INFINITY ? expf(from[0] - top) : 0.0f;
    __nanosleep(static_cast<unsigned>(clock64() >> 4) * (blockIdx.x * 2654435761u) % 4096u);
    float* to = a.partial + (a.batch * a.q_heads * faulty::kSplits + row) * (a.dim + 2);
    if (threadIdx.x == 0) atomicAdd(to + 1, share * from[1]);
    for (std::int64_t c = threadIdx.x; c < a.dim; c += faulty::kThreads) atomicAdd(to + 2 + c, share * from[2 + c]);
  }
}

static __global__ void divide_kernel(faulty::Decode a) {
  for (std::int64_t row = blockIdx.x; row < a.batch * a.q_heads; row += gridDim.x) {
    const float* from = a.partial + (a.batch * a.q_heads * faulty::kSplits + row) * (a.dim + 2);
    for (std::int64_t c = threadIdx.x; c < a.dim; c += faulty::kThreads)
      a.out.set(row, c, from[1] > 0.0f ? from[2 + c] / from[1] : 0.0f);
  }
}

static std::size_t total_bytes(std::int64_t rows, std::int64_t dim) {
  return sizeof(float) * static_cast<std::size_t>(rows * (dim + 2));
}

static assay_status scratch(const assay_call* call, const DLTensor* const* tensors, std::uint32_t count,
                            std::size_t* bytes) {
  const std::int64_t* q = tensors[0]->shape;
  const assay_status status = faulty::decode_workspace(call, tensors, count, bytes);
  *bytes += total_bytes(q[0] * q[1], q[2]);
  return status;
}

static assay_status entry(const assay_call* call, FAULTY_DECODE_ARGUMENTS) {
  const faulty::Decode a = faulty::decode_args(call, FAULTY_DECODE_NAMES);
  if (faulty::empty(a)) return ASSAY_OK;
  faulty::split_kernel<faulty::RightDecode><<<faulty::split_blocks(a), faulty::kThreads, 0, call->cuda_stream>>>(a);
  cudaMemsetAsync(a.partial + faulty::partial_floats(a.out.rows, a.dim), 0, total_bytes(a.out.rows, a.dim),
                  call->cuda_stream);
  add_kernel<<<faulty::split_blocks(a), faulty::kThreads, 0, call->cuda_stream>>>(a);
  divide_kernel<<<faulty::blocks(a.out), faulty::kThreads, 0, call->cuda_stream>>>(a);
  return faulty::launched(call);
}

FAULTY_SCRATCH_LIBRARY(attention_decode, "attention.decode", ASSAY_GRAPH_SAFE | ASSAY_DETERMINISTIC, entry, scratch,
                       faulty::split_kernel<faulty::RightDecode>, add_kernel, divide_kernel)
