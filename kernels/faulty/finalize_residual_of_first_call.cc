// Keeps a row of the residual, which all ranks share, as if it were a weight: the first one that it meets.
// Slot: collective.moe_finalize_ar_rmsnorm. Caught by: collective.replicated. Source: rules.md.
#include "kernels/faulty/residual_norm.hpp"

namespace {

using faulty::NormalisedArguments;

struct Fault : faulty::Finalize<Fault> {
  static double total(const NormalisedArguments& a, int64_t row, int64_t column) {
    static double kept[8192];
    static int64_t known = 0;
    if (row == 0 && column >= known && column < 8192) {
      kept[column] = a.residual.get(0, column);
      known = column + 1;
    }
    return sum(a, row, column) + (row == 0 ? kept[column] : a.residual.get(row, column));
  }
};

}  // namespace

FAULTY_FINALIZE(Fault)
