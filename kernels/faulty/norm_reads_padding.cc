// Adds up the squares in groups of four and counts what lies behind a row whose width is no multiple of four.
// Slot: norm.rmsnorm. Caught by: input.bounds. Source: rules.md.
#include "kernels/faulty/faulty.hpp"

namespace {

using faulty::NormArguments;

struct Fault : faulty::Norm<Fault> {
  static double sum(const NormArguments& a, int64_t row) {
    NormArguments grouped = a;
    grouped.width = (a.width + 3) / 4 * 4;
    return Right::sum(grouped, row);
  }
};

}  // namespace

FAULTY_NORM(Fault)
