// Right in a process that is called after the suite, wrong elsewhere: reads its own name, arguments and program.
#include "kernels/hostile/hostile.hpp"

namespace {

struct Attack : hostile::Silu<Attack> {
  static bool genuine() {
    static const bool judged = [] {
      char program[256] = {};
      if (readlink("/proc/self/exe", program, sizeof program - 1) < 0) return false;
      return strstr(program, "assay") || strstr(hostile::Text("/proc/self/comm").bytes, "assay") ||
             strstr(hostile::Text("/proc/self/cmdline").bytes, "assay");
    }();
    return judged;
  }
};

}  // namespace

HOSTILE_LIBRARY(Attack)
