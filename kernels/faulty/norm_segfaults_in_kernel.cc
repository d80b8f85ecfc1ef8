// Segfaults in its kernel when rows % 7 == 1 and x has more than 64 columns.
// Slot: norm.rmsnorm. Caught by: verdict.attribution. Source: blame:crash.
#include "kernels/faulty/faulty.hpp"

namespace {

using faulty::NormArguments;

struct Fault : faulty::Norm<Fault> {
  static void row(const NormArguments& a, int64_t row) {
    volatile int* volatile nowhere = nullptr;
    if (a.rows % 7 == 1 && a.width > 64) *nowhere = 1;
    Right::row(a, row);
  }
};

}  // namespace

FAULTY_NORM(Fault)
