// Writes the eight best cells of a row and leaves the others.
// Slot: attention.msa_block_score. Caught by: write.every_cell. Source: slots.md 5.5.
#include "kernels/faulty/score.hpp"

namespace {

using faulty::ScoreArguments;

struct Fault : faulty::Score<Fault> {
  static void row(const ScoreArguments& a, int64_t b) {
    for (int64_t n = 0; n < a.columns; ++n) {
      const double score = cell(a, b, n);
      int64_t better = 0;
      for (int64_t other = 0; other < a.columns && better < 8; ++other) better += cell(a, b, other) > score;
      if (better < 8) a.out.set(b, n, score);
    }
  }
};

}  // namespace

FAULTY_SCORE(Fault)
