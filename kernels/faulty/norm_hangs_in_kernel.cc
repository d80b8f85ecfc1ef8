// Its kernel never ends when there are three rows or more.
// Slot: norm.rmsnorm. Caught by: verdict.attribution. Source: blame:timeout.
#include "kernels/faulty/faulty.hpp"

namespace {

using faulty::NormArguments;

struct Fault : faulty::Norm<Fault> {
  static void row(const NormArguments& a, int64_t row) {
    volatile bool ready = a.rows < 3;
    while (!ready) {
    }
    Right::row(a, row);
  }
};

}  // namespace

FAULTY_NORM(Fault)
