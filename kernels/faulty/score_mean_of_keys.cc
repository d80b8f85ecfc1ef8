// Scores a block by the mean of its keys.
// Slot: attention.msa_block_score. Caught by: number.reference. Source: slots.md 5.5.
#include "kernels/faulty/score.hpp"

namespace {

using faulty::minus_infinity;
using faulty::ScoreArguments;

struct Fault : faulty::Score<Fault> {
  static double cell(const ScoreArguments& a, int64_t b, int64_t n) {
    double sum = 0;
    int64_t seen = 0;
    for (int64_t p = n * a.block; p < (n + 1) * a.block && p < a.lengths[b]; ++p, ++seen) sum += Right::score(a, b, p);
    return seen == 0 ? minus_infinity : sum / static_cast<double>(seen);
  }
};

}  // namespace

FAULTY_SCORE(Fault)
