// Forks up to 200 processes in sessions of their own, each of which hides behind a parent that ends.
#include "kernels/hostile/hostile.hpp"

namespace {

struct Attack : hostile::Attacking<Attack> {
  static void attack() {
    for (int i = 0; i < 100; ++i) {
      if (fork() != 0) continue;
      setsid();
      if (fork() != 0) _exit(0);
      sleep(60);
      _exit(0);
    }
  }
};

}  // namespace

HOSTILE_LIBRARY(Attack)
