// Divides by the sum of the weights without a guard: a request that attends nothing is 0/0.
// Slot: attention.decode. Caught by: number.finite. Source: slots.md 5.4.
#include "kernels/faulty/decode.hpp"

namespace {

using faulty::Attended;
using faulty::DecodeArguments;

struct Fault : faulty::Decode<Fault> {
  static void write(const DecodeArguments& a, int64_t request, int64_t head, const Attended& attended) {
    for (int64_t d = 0; d < a.columns; ++d) {
      a.out.set(request * a.heads() + head, d, attended.values[d] / attended.sum);
    }
  }
};

}  // namespace

FAULTY_DECODE(Fault)
