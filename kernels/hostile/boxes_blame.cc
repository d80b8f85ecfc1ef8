// Writes to the page that it shares with the judge that trusted code is running, and ends the process: blame would be
// the worker's.
#include "kernels/hostile/memory.hpp"

namespace {

struct Attack : hostile::Attacking<Attack> {
  static void attack() {
    constexpr uint32_t trusted = 1;
    hostile::for_each_region(getpid(), [](const hostile::Region& r) {
      // The first word of the smallest shared file is the phase.
      if (r.access[3] == 's' && r.bytes() == 4096 && r.access[1] == 'w')
        *reinterpret_cast<volatile uint32_t*>(r.from) = trusted;
    });
    _exit(0);
  }
};

}  // namespace

HOSTILE_LIBRARY(Attack)
