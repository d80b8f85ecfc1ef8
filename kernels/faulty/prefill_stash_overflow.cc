// Keeps the first 2048 blocks of the bucket at the threshold, where a bucket holds all scores with equal upper 16
// bits.
// Slot: attention.msa_prefill_block_score. Caught by: number.reference. Source: FAULT-012.
#include "kernels/faulty/prefill.hpp"

namespace {

using faulty::Choice;
using faulty::minus_infinity;
using faulty::PrefillArguments;

struct Fault : faulty::Prefill<Fault> {
  static constexpr int64_t room = 2048;
  static int32_t bucket(double score) {
    const auto bits = static_cast<int32_t>(host_kernels::bits_of(static_cast<float>(score)));
    return (bits < 0 ? bits ^ 0x7fffffff : bits) >> 16;  // ordered as the scores are
  }
  static void choose(const PrefillArguments& a, const Choice& choice, int64_t places) {
    const Choice rest = choice;
    int64_t threshold = -1;
    for (int64_t left = places; left > 0; --left) rest.taken[threshold = rest.best(0, rest.visible)] = true;
    if (threshold < 0) return;
    const auto bucket_of = [&](int64_t n) { return bucket(choice.scores[n] / a.scale); };
    const int32_t edge = bucket_of(threshold);
    int64_t stashed = 0;
    for (int64_t n = 0; n < choice.visible; ++n) {
      if (choice.taken[n] && bucket_of(n) == edge && !forced(a, choice, n))
        choice.taken[n] = false;
      else if (choice.taken[n] && !forced(a, choice, n))
        --places;
    }
    for (int64_t n = 0; n < choice.visible; ++n)
      if (!choice.taken[n] && bucket_of(n) == edge && ++stashed > room) choice.scores[n] = minus_infinity;
    Right::choose(a, choice, places);
  }
  static bool forced(const PrefillArguments& a, const Choice& choice, int64_t n) {
    return n < a.init || n >= choice.visible - a.local;
  }
};

}  // namespace

FAULTY_PREFILL(Fault)
