// Recurses until the stack is gone, comes back from the signal and goes on.
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

#include "kernels/hostile/hostile.hpp"

namespace {

sigjmp_buf before;

int64_t descend(int64_t depth, int64_t floor) {
  volatile char frame[4096];
  frame[0] = static_cast<char>(depth);
  return depth == floor ? 0 : descend(depth + 1, floor) + frame[0];
}

struct Attack : hostile::Attacking<Attack> {
  static bool genuine() { return true; }
  static void attack() {
    struct sigaction own = {};
    own.sa_flags = SA_ONSTACK;
    own.sa_handler = [](int) { siglongjmp(before, 1); };
    sigaction(SIGSEGV, &own, nullptr);
    if (sigsetjmp(before, 1) == 0) (void)!descend(0, INT64_MAX);
  }
};

}  // namespace

HOSTILE_LIBRARY(Attack)
