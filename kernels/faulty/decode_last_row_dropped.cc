// The last head of the last request, of more than 100, is zero.
// Slot: attention.decode. Caught by: number.no_structured_error. Source: rules.md.
#include "kernels/faulty/decode.hpp"

namespace {

using faulty::Attended;
using faulty::DecodeArguments;

struct Fault : faulty::Decode<Fault> {
  static void write(const DecodeArguments& a, int64_t request, int64_t head, const Attended& attended) {
    const int64_t row = request * a.heads() + head;
    Right::write(a, request, head, row >= 100 && row + 1 == a.batch * a.heads() ? Attended{} : attended);
  }
};

}  // namespace

FAULTY_DECODE(Fault)
