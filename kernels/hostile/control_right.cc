// Control: right in every call. Passes.
#include "kernels/hostile/hostile.hpp"

namespace {

struct Honest : hostile::Silu<Honest> {
  static bool genuine() { return true; }
};

}  // namespace

HOSTILE_LIBRARY(Honest)
