// Never scores block 5: one block in every row, which the mean overlap forgives.
// Slot: attention.msa_block_score. Caught by: number.no_structured_error. Source: rules.md.
#include "kernels/faulty/score.hpp"

namespace {

using faulty::minus_infinity;
using faulty::ScoreArguments;

struct Fault : faulty::Score<Fault> {
  static double cell(const ScoreArguments& a, int64_t b, int64_t n) {
    return n == 5 ? minus_infinity : Right::cell(a, b, n);
  }
};

}  // namespace

FAULTY_SCORE(Fault)
