// Scales by D^-1/2 whatever the call says.
// Slot: attention.decode. Caught by: input.scalars. Source: slots.md 1.2.
#include "kernels/faulty/decode.hpp"

namespace {

using faulty::DecodeArguments;

struct Fault : faulty::Decode<Fault> {
  static assay_status enqueue(const assay_call* call, const DecodeArguments& a) {
    DecodeArguments assumed = a;
    assumed.scale = 1 / __builtin_sqrt(static_cast<double>(a.columns));
    return Right::enqueue(call, assumed);
  }
};

}  // namespace

FAULTY_DECODE(Fault)
