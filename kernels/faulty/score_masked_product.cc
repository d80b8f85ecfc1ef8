// Masks by a zero factor: NaN behind the length reaches every block.
// Slot: attention.msa_block_score. Caught by: input.bounds. Source: slots.md 4.4.
#include "kernels/faulty/score.hpp"

namespace {

using faulty::minus_infinity;
using faulty::ScoreArguments;

struct Fault : faulty::Score<Fault> {
  static double cell(const ScoreArguments& a, int64_t b, int64_t n) {
    double best = minus_infinity;
    for (int64_t p = n * a.block; p < (n + 1) * a.block; ++p) {
      const double seen = p < a.lengths[b] ? 1.0 : 0.0;
      const double score = Right::score(a, b, p) * seen + (seen - 1.0) * 1e30;
      if (!(score <= best)) best = score;
    }
    return n * a.block < a.lengths[b] ? best : minus_infinity;
  }
};

}  // namespace

FAULTY_SCORE(Fault)
