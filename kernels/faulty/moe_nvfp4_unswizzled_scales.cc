// Reads block scales row by row.
// Slot: moe.fused_experts. Caught by: number.reference. Source: slots.md 6.2.
#include "kernels/faulty/moe.hpp"

namespace {

struct Fault : faulty::Nvfp4Moe<Fault> {
  static int64_t swizzled(int64_t r, int64_t g, int64_t padded) { return r * padded + g; }
};

}  // namespace

FAULTY_MOE(Fault)
