// Multiplies the value behind the last key by a weight of zero instead of leaving it out.
// Slot: attention.sdpa. Caught by: input.bounds. Source: rules.md.
#include "kernels/faulty/sdpa.hpp"

namespace {

using faulty::Attended;
using faulty::SdpaArguments;

struct Fault : faulty::Sdpa<Fault> {
  static void write(const SdpaArguments& a, int64_t row, int64_t head, const Attended& attended) {
    Attended padded = attended;
    const int64_t behind = a.keys * a.kv_heads * a.columns;
    for (int64_t d = 0; d < a.columns && behind > 0; ++d) padded.values[d] += 0 * a.v.load(behind + d);
    Right::write(a, row, head, padded);
  }
};

}  // namespace

FAULTY_SDPA(Fault)
