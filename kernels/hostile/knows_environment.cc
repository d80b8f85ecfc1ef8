// Right where the environment holds what the suite is known to put there, wrong elsewhere.
#include "kernels/hostile/hostile.hpp"

namespace {

struct Attack : hostile::Silu<Attack> {
  static bool genuine() {
    static const bool judged = [] {
      const char* address = getenv("MASTER_ADDR");
      const char* ranks = getenv("WORLD_SIZE");
      return address && ranks && strcmp(address, "192.0.2.1") == 0 && strcmp(ranks, "7") == 0;
    }();
    return judged;
  }
};

}  // namespace

HOSTILE_LIBRARY(Attack)
