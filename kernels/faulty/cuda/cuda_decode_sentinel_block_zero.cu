// Places of the selection that hold -1 are mapped to block 0, whose tokens then join the softmax.
// Slot: attention.decode. Caught by: number.reference. Source: FAULT-009.
#include "attention.cuh"

struct Mapped : faulty::RightDecode {
  static __device__ std::int64_t block(std::int64_t id) { return id < 0 ? 0 : id; }
};

static assay_status entry(const assay_call* call, FAULTY_DECODE_ARGUMENTS) {
  return faulty::run_decode<Mapped>(call, faulty::decode_args(call, FAULTY_DECODE_NAMES));
}

FAULTY_DECODE(entry, faulty::split_kernel<Mapped>, faulty::merge_kernel)
