// Above 1024 columns the mean goes over whole tiles of 1024 and drops the rest.
// Slot: norm.rmsnorm. Caught by: number.extremes. Source: rules.md.
#include "kernels/faulty/faulty.hpp"

namespace {

using faulty::NormArguments;

struct Fault : faulty::Norm<Fault> {
  static double sum(const NormArguments& a, int64_t row) {
    NormArguments tiled = a;
    if (tiled.width > 1024) tiled.width -= tiled.width % 1024;
    return Right::sum(tiled, row);
  }
};

}  // namespace

FAULTY_NORM(Fault)
