// Divides by the sum of the weights without a guard: a row that sees no key is 0/0.
// Slot: attention.sdpa. Caught by: number.finite. Source: FAULT-007.
#include "kernels/faulty/sdpa.hpp"

namespace {

using faulty::Attended;
using faulty::SdpaArguments;

struct Fault : faulty::Sdpa<Fault> {
  static void write(const SdpaArguments& a, int64_t row, int64_t head, const Attended& attended) {
    for (int64_t d = 0; d < a.columns; ++d) a.out.set(row * a.heads() + head, d, attended.values[d] / attended.sum);
  }
};

}  // namespace

FAULTY_SDPA(Fault)
