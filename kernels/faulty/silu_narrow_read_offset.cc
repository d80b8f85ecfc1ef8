// Forms row * pitch of the input in 32 bits.
// Slot: activation.silu_and_mul. Caught by: number.extremes. Source: FAULT-001.
#include "kernels/faulty/faulty.hpp"

namespace {

using faulty::SiluArguments;

struct Fault : faulty::Silu<Fault> {
  // Unsigned, so that the overflow which is meant is no undefined behaviour beside.
  static int32_t narrow(const faulty::Rows& rows, int64_t row) {
    uint32_t elements = 0;
    for (int lead = 0; lead < rows.leads; ++lead) {
      elements += static_cast<uint32_t>(row % rows.extents[lead]) * static_cast<uint32_t>(rows.strides[lead]);
      row /= rows.extents[lead];
    }
    return static_cast<int32_t>(elements);
  }
  static void row(const SiluArguments& a, int64_t row) {
    SiluArguments moved = a;
    auto* memory = static_cast<char*>(a.x.rows.data);
    moved.x.rows.data = memory + narrow(a.x.rows, row) * a.x.cell_bytes();
    moved.x.rows.leads = 0;
    Right::row(moved, row);
  }
};

}  // namespace

FAULTY_SILU(Fault)
