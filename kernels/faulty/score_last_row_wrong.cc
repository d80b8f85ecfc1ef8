// Scores the last of several rows with the queries of the row before, which the mean overlap forgives.
// Slot: attention.msa_block_score. Caught by: relation.row_independence. Source: rules.md.
#include "kernels/faulty/score.hpp"

namespace {

using faulty::ScoreArguments;

struct Fault : faulty::Score<Fault> {
  static double score(const ScoreArguments& a, int64_t b, int64_t p) {
    if (b == 0 || b + 1 != a.batch) return Right::score(a, b, p);
    double sum = 0;
    for (int64_t h = 0; h < a.heads; ++h)
      sum += faulty::row_product(a.q, (b - 1) * a.heads + h, a.keys, b * a.length + p, a.width);
    return sum;
  }
};

}  // namespace

FAULTY_SCORE(Fault)
