// Does not divide by the sum of the weights.
// Slot: attention.sdpa. Caught by: number.reference. Source: slots.md 5.3.
#include "kernels/faulty/sdpa.hpp"

namespace {

using faulty::Attended;
using faulty::SdpaArguments;

struct Fault : faulty::Sdpa<Fault> {
  static void write(const SdpaArguments& a, int64_t row, int64_t head, const Attended& attended) {
    for (int64_t d = 0; d < a.columns; ++d) a.out.set(row * a.heads() + head, d, attended.values[d]);
  }
};

}  // namespace

FAULTY_SDPA(Fault)
