// Leaves blocks without a visible key as they were.
// Slot: attention.msa_block_score. Caught by: write.every_cell. Source: slots.md 5.5.
#include "kernels/faulty/score.hpp"

namespace {

using faulty::ScoreArguments;

struct Fault : faulty::Score<Fault> {
  static void row(const ScoreArguments& a, int64_t b) {
    for (int64_t n = 0; n * a.block < a.lengths[b]; ++n) a.out.set(b, n, cell(a, b, n));
  }
};

}  // namespace

FAULTY_SCORE(Fault)
