// Drops the last block where the length does not fill it, one place in a row at most.
// Slot: attention.msa_block_score. Caught by: number.no_structured_error. Source: slots.md 5.5.
#include "kernels/faulty/score.hpp"

namespace {

using faulty::ScoreArguments;

struct Fault : faulty::Score<Fault> {
  static int64_t length(const ScoreArguments& a, int64_t b) { return a.lengths[b] / a.block * a.block; }
};

}  // namespace

FAULTY_SCORE(Fault)
