// Masks every row by the length of row 0.
// Slot: attention.msa_block_score. Caught by: number.hard_values. Source: rules.md.
#include "kernels/faulty/score.hpp"

namespace {

using faulty::ScoreArguments;

struct Fault : faulty::Score<Fault> {
  static int64_t length(const ScoreArguments& a, int64_t) { return a.lengths[0]; }
};

}  // namespace

FAULTY_SCORE(Fault)
