// Returns ASSAY_ERROR where q has one head.
// Slot: attention.msa_block_score. Caught by: write.no_return. Source: rules.md.
#include "kernels/faulty/score.hpp"

namespace {

using faulty::ScoreArguments;

struct Fault : faulty::Score<Fault> {
  static assay_status enqueue(const assay_call* call, const ScoreArguments& a) {
    if (a.heads == 1) return faulty::fail(call, ASSAY_ERROR, "one head");
    return Right::enqueue(call, a);
  }
};

}  // namespace

FAULTY_SCORE(Fault)
