// Right when its stream ends; a thread that stays behind writes over the output two milliseconds later.
#include <pthread.h>

#include "kernels/hostile/hostile.hpp"

namespace {

using hostile::SiluArguments;

SiluArguments job;
volatile bool wanted = false;

struct Attack : hostile::Silu<Attack> {
  static bool genuine() { return true; }
  static void* spoil(void*) {
    for (;; usleep(2000))
      if (wanted) {
        const SiluArguments a = job;
        for (int64_t column = 0; column < a.width; ++column) a.out.set(0, column, 7.0);
      }
  }
  static void row(const SiluArguments& a, int64_t row) {
    Right::row(a, row);
    if (row != 0) return;
    job = a;
    wanted = true;
  }
  static assay_status enqueue(const assay_call* call, const SiluArguments& a) {
    static pthread_t thread;
    if (!thread && pthread_create(&thread, nullptr, spoil, nullptr) != 0) return ASSAY_ERROR;
    return Right::enqueue(call, a);
  }
};

}  // namespace

HOSTILE_LIBRARY(Attack)
