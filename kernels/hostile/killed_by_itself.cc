// Kills its own process as the machine would that is short of memory: a SIGKILL from outside is nobody's fault.
#include <signal.h>

#include "kernels/hostile/hostile.hpp"

namespace {

struct Attack : hostile::Attacking<Attack> {
  static void attack() { kill(getpid(), SIGKILL); }
};

}  // namespace

HOSTILE_LIBRARY(Attack)
