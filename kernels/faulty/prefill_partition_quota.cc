// Gives each half of the blocks half of the places.
// Slot: attention.msa_prefill_block_score. Caught by: number.hard_values. Source: slots.md 4.4.
#include "kernels/faulty/prefill.hpp"

namespace {

using faulty::Choice;
using faulty::PrefillArguments;

struct Fault : faulty::Prefill<Fault> {
  static void choose(const PrefillArguments& a, const Choice& choice, int64_t places) {
    const int64_t middle = choice.visible / 2;
    for (int64_t share = places / 2; share > 0; --share) {
      const int64_t n = choice.best(0, middle);
      if (n < 0) break;
      choice.taken[n] = true;
      --places;
    }
    for (; places > 0; --places) {
      const int64_t n = choice.best(middle, choice.visible);
      if (n < 0) break;
      choice.taken[n] = true;
    }
    Right::choose(a, choice, places);
  }
};

}  // namespace

FAULTY_PREFILL(Fault)
