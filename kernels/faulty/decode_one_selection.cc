// Uses the blocks of the first key/value head for all of them.
// Slot: attention.decode. Caught by: number.reference. Source: FAULT-011.
#include "kernels/faulty/decode.hpp"

namespace {

using faulty::DecodeArguments;

struct Fault : faulty::Decode<Fault> {
  static int64_t chosen(const DecodeArguments& a, int64_t request, int64_t, int64_t place) {
    return a.selected.at(0, request, place);
  }
};

}  // namespace

FAULTY_DECODE(Fault)
