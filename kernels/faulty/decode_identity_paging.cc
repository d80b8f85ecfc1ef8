// Takes positions for cache slots.
// Slot: attention.decode. Caught by: number.reference. Source: slots.md 5.4.
#include "kernels/faulty/decode.hpp"

namespace {

using faulty::DecodeArguments;

struct Fault : faulty::Decode<Fault> {
  static int64_t slot(const DecodeArguments&, int64_t, int64_t position) { return position; }
};

}  // namespace

FAULTY_DECODE(Fault)
