// Returns ASSAY_UNSUPPORTED where the capacity is no whole number of blocks, without a capability that says so.
// Slot: attention.decode. Caught by: write.no_return. Source: rules.md.
#include "kernels/faulty/decode.hpp"

namespace {

using faulty::DecodeArguments;

struct Fault : faulty::Decode<Fault> {
  static assay_status enqueue(const assay_call* call, const DecodeArguments& a) {
    if (a.capacity % a.block_size != 0)
      return faulty::fail(call, ASSAY_UNSUPPORTED, "the capacity is no whole number of blocks");
    return Right::enqueue(call, a);
  }
};

}  // namespace

FAULTY_DECODE(Fault)
