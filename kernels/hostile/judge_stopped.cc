// Stops the judge: a run that never ends has not failed.
#include <signal.h>

#include "kernels/hostile/hostile.hpp"

namespace {

struct Attack : hostile::Attacking<Attack> {
  static void attack() {
    hostile::for_each_judge([](pid_t judge) { kill(judge, SIGSTOP); });
  }
};

}  // namespace

HOSTILE_LIBRARY(Attack)
