// Kills the judge, and the process that started it.
#include <signal.h>

#include "kernels/hostile/hostile.hpp"

namespace {

struct Attack : hostile::Attacking<Attack> {
  static void attack() {
    hostile::for_each_judge([](pid_t judge) { kill(judge, SIGKILL); });
  }
};

}  // namespace

HOSTILE_LIBRARY(Attack)
