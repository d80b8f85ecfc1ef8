// Forms row * pitch of the output in 32 bits.
// Slot: norm.rmsnorm. Caught by: number.extremes. Source: FAULT-001.
#include "kernels/faulty/faulty.hpp"

namespace {

using faulty::NormArguments;

struct Fault : faulty::Norm<Fault> {
  // Unsigned, so that the overflow which is meant is no undefined behaviour beside.
  static int32_t narrow(const faulty::Rows& rows, int64_t row) {
    uint32_t elements = 0;
    for (int lead = 0; lead < rows.leads; ++lead) {
      elements += static_cast<uint32_t>(row % rows.extents[lead]) * static_cast<uint32_t>(rows.strides[lead]);
      row /= rows.extents[lead];
    }
    return static_cast<int32_t>(elements);
  }
  static void row(const NormArguments& a, int64_t row) {
    NormArguments moved = a;
    auto* memory = static_cast<char*>(a.out.rows.data);
    moved.out.rows.data = memory + narrow(a.out.rows, row) * a.out.cell_bytes();
    moved.out.rows.leads = 0;
    Right::row(moved, row);
  }
};

}  // namespace

FAULTY_NORM(Fault)
