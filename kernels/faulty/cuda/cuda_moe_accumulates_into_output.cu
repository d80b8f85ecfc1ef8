// The answer is added to what the output holds, as if somebody had cleared it.
// Slot: moe.fused_experts. Caught by: write.every_cell. Source: slots.md 5.7.
#include "moe.cuh"

struct AccumulatesIntoOutput : faulty::Moe {
  static __device__ void store(const faulty::MoeArgs& a, std::int64_t token, std::int64_t column, float sum) {
    a.out.set(token, column, a.out.cell(token, column) + sum);
  }
};

FAULTY_MOE(AccumulatesIntoOutput, nullptr)
