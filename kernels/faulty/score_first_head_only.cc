// Scores with the first query head alone.
// Slot: attention.msa_block_score. Caught by: number.reference. Source: slots.md 5.5.
#include "kernels/faulty/score.hpp"

namespace {

using faulty::ScoreArguments;

struct Fault : faulty::Score<Fault> {
  static double score(const ScoreArguments& a, int64_t b, int64_t p) { return head(a, b, 0, p); }
};

}  // namespace

FAULTY_SCORE(Fault)
