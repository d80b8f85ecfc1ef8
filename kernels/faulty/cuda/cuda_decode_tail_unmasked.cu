// The last block is attended to its end: tokens past the length, left over in a recycled page, join the softmax.
// Slot: attention.decode. Caught by: input.bounds. Source: FAULT-010.
#include "attention.cuh"

struct Unmasked : faulty::RightDecode {
  static __device__ std::int64_t length(const faulty::Decode& a, std::int64_t request) {
    return (a.lengths[request] + a.block_size - 1) / a.block_size * a.block_size;
  }
};

static assay_status entry(const assay_call* call, FAULTY_DECODE_ARGUMENTS) {
  return faulty::run_decode<Unmasked>(call, faulty::decode_args(call, FAULTY_DECODE_NAMES));
}

FAULTY_DECODE(entry, faulty::split_kernel<Unmasked>, faulty::merge_kernel)
