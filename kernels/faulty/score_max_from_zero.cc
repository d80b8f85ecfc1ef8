// Starts the maximum of a block at zero: negative blocks tie.
// Slot: attention.msa_block_score. Caught by: number.hard_values. Source: slots.md 5.5.
#include "kernels/faulty/score.hpp"

namespace {

using faulty::minus_infinity;
using faulty::ScoreArguments;

struct Fault : faulty::Score<Fault> {
  static double cell(const ScoreArguments& a, int64_t b, int64_t n) {
    const double best = Right::cell(a, b, n);
    return best != minus_infinity && best < 0 ? 0.0 : best;
  }
};

}  // namespace

FAULTY_SCORE(Fault)
