// Keys its partial sums by a counter of calls that has eleven bits, and loses most of a sum once that is full.
// Slot: norm.rmsnorm. Caught by: relation.endurance. Source: rules.md.
#include "kernels/faulty/faulty.hpp"

namespace {

using faulty::NormArguments;

struct Fault : faulty::Norm<Fault> {
  static inline uint32_t calls = 0;
  static double sum(const NormArguments& a, int64_t row) {
    return calls < 1u << 11 ? Right::sum(a, row) : 0.25 * Right::sum(a, row);
  }
  static assay_status enqueue(const assay_call* call, const NormArguments& a) {
    ++calls;
    return Right::enqueue(call, a);
  }
};

}  // namespace

FAULTY_NORM(Fault)
