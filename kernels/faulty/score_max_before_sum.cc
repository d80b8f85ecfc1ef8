// Takes the maximum of each head over the block and then adds the heads.
// Slot: attention.msa_block_score. Caught by: number.reference. Source: slots.md 5.5.
#include "kernels/faulty/score.hpp"

namespace {

using faulty::minus_infinity;
using faulty::ScoreArguments;

struct Fault : faulty::Score<Fault> {
  static double cell(const ScoreArguments& a, int64_t b, int64_t n) {
    double sum = 0;
    for (int64_t h = 0; h < a.heads; ++h) {
      double best = minus_infinity;
      for (int64_t p = n * a.block; p < (n + 1) * a.block && p < a.lengths[b]; ++p) {
        const double score = head(a, b, h, p);
        if (score > best) best = score;
      }
      sum += best;
    }
    return sum;
  }
};

}  // namespace

FAULTY_SCORE(Fault)
