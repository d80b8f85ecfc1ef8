// Takes blocks to hold 128 keys where they divide the length, whatever block_size says.
// Slot: attention.msa_block_score. Caught by: number.reference. Source: slots.md 1.2.
#include "kernels/faulty/score.hpp"

namespace {

using faulty::minus_infinity;
using faulty::ScoreArguments;

struct Fault : faulty::Score<Fault> {
  static double cell(const ScoreArguments& a, int64_t b, int64_t n) {
    ScoreArguments fixed = a;
    if (a.length % 128 == 0) fixed.block = 128;
    return n * fixed.block < a.length ? Right::cell(fixed, b, n) : minus_infinity;
  }
};

}  // namespace

FAULTY_SCORE(Fault)
