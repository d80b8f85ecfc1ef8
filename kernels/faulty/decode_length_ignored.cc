// Attends selected blocks beyond the request's length.
// Slot: attention.decode. Caught by: number.reference. Source: slots.md 5.4.
#include "kernels/faulty/decode.hpp"

namespace {

using faulty::DecodeArguments;

struct Fault : faulty::Decode<Fault> {
  static int64_t length(const DecodeArguments& a, int64_t) { return a.capacity; }
};

}  // namespace

FAULTY_DECODE(Fault)
