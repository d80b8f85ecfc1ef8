// Takes the request's number for its row of the table.
// Slot: attention.decode. Caught by: number.reference. Source: slots.md 5.4.
#include "kernels/faulty/decode.hpp"

namespace {

using faulty::DecodeArguments;

struct Fault : faulty::Decode<Fault> {
  static int64_t slot(const DecodeArguments& a, int64_t request, int64_t position) {
    return a.slots.at(request, position);
  }
};

}  // namespace

FAULTY_DECODE(Fault)
