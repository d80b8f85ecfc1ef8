// Scores every other key of a block.
// Slot: attention.msa_block_score. Caught by: number.hard_values. Source: slots.md 4.4.
#include "kernels/faulty/score.hpp"

namespace {

using faulty::minus_infinity;
using faulty::ScoreArguments;

struct Fault : faulty::Score<Fault> {
  static double cell(const ScoreArguments& a, int64_t b, int64_t n) {
    double best = minus_infinity;
    for (int64_t p = n * a.block; p < (n + 1) * a.block && p < a.lengths[b]; p += 2) {
      const double score = Right::score(a, b, p);
      if (score > best) best = score;
    }
    return best;
  }
};

}  // namespace

FAULTY_SCORE(Fault)
