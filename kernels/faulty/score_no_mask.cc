// Scores every key and never looks at the lengths.
// Slot: attention.msa_block_score. Caught by: number.hard_values. Source: slots.md 5.5.
#include "kernels/faulty/score.hpp"

namespace {

using faulty::ScoreArguments;

struct Fault : faulty::Score<Fault> {
  static int64_t length(const ScoreArguments& a, int64_t) { return a.length; }
};

}  // namespace

FAULTY_SCORE(Fault)
