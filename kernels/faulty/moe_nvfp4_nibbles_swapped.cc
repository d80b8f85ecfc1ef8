// Takes the high nibble for the even element.
// Slot: moe.fused_experts. Caught by: number.reference. Source: slots.md 6.2.
#include "kernels/faulty/moe.hpp"

namespace {

struct Fault : faulty::Nvfp4Moe<Fault> {
  static uint32_t code(const uint8_t* row, int64_t element) { return Right::code(row, element ^ 1); }
};

}  // namespace

FAULTY_MOE(Fault)
