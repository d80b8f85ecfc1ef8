// Counts the position at the length as visible.
// Slot: attention.msa_block_score. Caught by: input.bounds. Source: slots.md 5.5.
#include "kernels/faulty/score.hpp"

namespace {

using faulty::ScoreArguments;

struct Fault : faulty::Score<Fault> {
  static int64_t length(const ScoreArguments& a, int64_t b) {
    return a.lengths[b] < a.length ? a.lengths[b] + 1 : a.length;
  }
};

}  // namespace

FAULTY_SCORE(Fault)
