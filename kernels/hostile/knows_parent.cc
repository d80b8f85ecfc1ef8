// Right where the parent process is called after the suite, wrong elsewhere.
#include "kernels/hostile/hostile.hpp"

namespace {

struct Attack : hostile::Silu<Attack> {
  static bool genuine() {
    static const bool judged =
        strstr(hostile::Text(hostile::Path("/proc/%d/comm", static_cast<int>(getppid())).text).bytes, "assay");
    return judged;
  }
};

}  // namespace

HOSTILE_LIBRARY(Attack)
