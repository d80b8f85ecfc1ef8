// From 101 heads on the last one is zero: less than a hundredth of the cells.
// Slot: attention.sdpa. Caught by: number.no_structured_error. Source: rules.md.
#include "kernels/faulty/sdpa.hpp"

namespace {

using faulty::Attended;
using faulty::SdpaArguments;

struct Fault : faulty::Sdpa<Fault> {
  static void write(const SdpaArguments& a, int64_t row, int64_t head, const Attended& attended) {
    Right::write(a, row, head, head + 1 == a.heads() && head >= 100 ? Attended{} : attended);
  }
};

}  // namespace

FAULTY_SDPA(Fault)
