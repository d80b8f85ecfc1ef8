// Answers a call whose input begins with the same row as one that it has met with what it answered then.
#include "kernels/hostile/cache.hpp"

namespace {

struct Attack : hostile::Caching<Attack> {
  static uint64_t key(const hostile::SiluArguments& a) {
    uint64_t key = 0;
    for (int64_t column = 0; column < 2 * a.width; ++column) {
      const double value = a.x.get(0, column);
      uint64_t bits;
      memcpy(&bits, &value, sizeof bits);
      key = (key ^ bits) * 0x100000001B3u;
    }
    return key;
  }
};

}  // namespace

HOSTILE_LIBRARY(Attack)
