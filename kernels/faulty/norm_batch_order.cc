// Adds up the squares in 32 float lanes from 8 rows on and in 16 below: a row rounds as the size of its batch says.
// Slot: norm.rmsnorm. Caught by: relation.split. Source: rules.md.
#include "kernels/faulty/faulty.hpp"

namespace {

using faulty::NormArguments;

struct Fault : faulty::Norm<Fault> {
  static double sum(const NormArguments& a, int64_t row) {
    const int64_t lanes = a.rows >= 8 ? 32 : 16;
    float sums[32] = {};
    for (int64_t column = 0; column < a.width; ++column) {
      const auto value = static_cast<float>(a.x.get(row, column));
      sums[column % lanes] += value * value;
    }
    float total = 0;
    for (const float sum : sums) total += sum;
    return total;
  }
};

}  // namespace

FAULTY_NORM(Fault)
