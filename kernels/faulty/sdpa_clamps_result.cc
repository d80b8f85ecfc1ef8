// Clamps its results to the +-4 of ordinary values.
// Slot: attention.sdpa. Caught by: relation.linearity. Source: rules.md.
#include "kernels/faulty/sdpa.hpp"

namespace {

using faulty::Attended;
using faulty::SdpaArguments;

struct Fault : faulty::Sdpa<Fault> {
  static void write(const SdpaArguments& a, int64_t row, int64_t head, const Attended& attended) {
    for (int64_t d = 0; d < a.columns; ++d) {
      const double result = attended.result(d);
      a.out.set(row * a.heads() + head, d, result > 4 ? 4 : result < -4 ? -4 : result);
    }
  }
};

}  // namespace

FAULTY_SDPA(Fault)
