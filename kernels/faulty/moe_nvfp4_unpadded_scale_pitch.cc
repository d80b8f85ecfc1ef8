// Steps from expert to expert by the rows of scales that there are, not by those that are stored.
// Slot: moe.fused_experts. Caught by: number.reference. Source: FAULT-018.
#include "kernels/faulty/moe.hpp"

namespace {

struct Fault : faulty::Nvfp4Moe<Fault> {
  static int64_t expert_pitch(int64_t rows, int64_t groups) { return rows * host_kernels::round_up(groups, 4); }
};

}  // namespace

FAULTY_MOE(Fault)
