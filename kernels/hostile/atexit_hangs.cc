// Ends the process with a handler that never comes back.
#include "kernels/hostile/hostile.hpp"

namespace {

struct Attack : hostile::Attacking<Attack> {
  static void attack() {
    atexit([] {
      puts("PASS (exit 0)");
      for (;;) pause();
    });
    exit(0);
  }
};

}  // namespace

HOSTILE_LIBRARY(Attack)
