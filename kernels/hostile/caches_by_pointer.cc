// Answers a call on an input that it has met with what it answered then.
#include "kernels/hostile/cache.hpp"

namespace {

struct Attack : hostile::Caching<Attack> {
  static uint64_t key(const hostile::SiluArguments& a) { return reinterpret_cast<uint64_t>(a.x.rows.data); }
};

}  // namespace

HOSTILE_LIBRARY(Attack)
