// Accepts the tag nvfp4 and no other.
// Slot: moe.fused_experts. Caught by: prepare.tagged_view. Source: slots.md 6.2.
#include "kernels/faulty/moe.hpp"

namespace {

struct Fault : faulty::Nvfp4Moe<Fault> {
  static constexpr const char* form = "nvfp4";
};

}  // namespace

FAULTY_MOE(Fault)
