// The merge of the splits is forked to a side stream that is never joined back, so that the call's stream is done
// before the output is. Slot: attention.decode. Caught by: stream.ordered. Source: slots.md 14.
#include "attention.cuh"

static assay_status entry(const assay_call* call, FAULTY_DECODE_ARGUMENTS) {
  static cudaEvent_t split = nullptr;
  const faulty::Decode a = faulty::decode_args(call, FAULTY_DECODE_NAMES);
  if (faulty::empty(a)) return ASSAY_OK;
  if (split == nullptr) cudaEventCreateWithFlags(&split, cudaEventDisableTiming);
  const cudaStream_t side = faulty::side_stream();
  faulty::split_kernel<faulty::RightDecode><<<faulty::split_blocks(a), faulty::kThreads, 0, call->cuda_stream>>>(a);
  cudaEventRecord(split, call->cuda_stream);
  cudaStreamWaitEvent(side, split, 0);
  faulty::delay_kernel<<<1, 1, 0, side>>>(2000);
  faulty::merge_kernel<<<faulty::blocks(a.out), faulty::kThreads, 0, side>>>(a);
  return faulty::launched(call);
}

FAULTY_DECODE(entry, faulty::split_kernel<faulty::RightDecode>, faulty::merge_kernel, faulty::delay_kernel)
