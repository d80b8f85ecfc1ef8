// Scores the last partial block as a whole: leftovers of a recycled page win it.
// Slot: attention.msa_block_score. Caught by: input.bounds. Source: FAULT-010.
#include "kernels/faulty/score.hpp"

namespace {

using faulty::ScoreArguments;

struct Fault : faulty::Score<Fault> {
  static int64_t length(const ScoreArguments& a, int64_t b) { return (a.lengths[b] + a.block - 1) / a.block * a.block; }
};

}  // namespace

FAULTY_SCORE(Fault)
