// Kills its own process while it is loaded.
#include <signal.h>

#include "kernels/hostile/hostile.hpp"

namespace {

__attribute__((constructor)) void die() { kill(getpid(), SIGKILL); }

struct Attack : hostile::Silu<Attack> {};

}  // namespace

HOSTILE_LIBRARY(Attack)
