// Takes the first -1 for the end of the selection.
// Slot: attention.decode. Caught by: number.reference. Source: slots.md 5.4.
#include "kernels/faulty/decode.hpp"

namespace {

using faulty::Attended;
using faulty::DecodeArguments;

struct Fault : faulty::Decode<Fault> {
  static void attend(const DecodeArguments& a, int64_t request, int64_t head, int64_t begin, int64_t end,
                     Attended& attended) {
    int64_t last = begin;
    while (last < end && chosen(a, request, kv_head(a, head), last) >= 0) ++last;
    Right::attend(a, request, head, begin, last, attended);
  }
};

}  // namespace

FAULTY_DECODE(Fault)
