// Right where the three descriptors are open that a worker of the suite is given, wrong elsewhere.
#include "kernels/hostile/hostile.hpp"

namespace {

struct Attack : hostile::Silu<Attack> {
  static bool genuine() {
    static const bool judged = [] {
      for (int fd = 200; fd < 203; ++fd)
        if (fcntl(fd, F_GETFD) < 0) return false;
      return true;
    }();
    return judged;
  }
};

}  // namespace

HOSTILE_LIBRARY(Attack)
