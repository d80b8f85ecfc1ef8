// State that is valid for shrinking row counts only: rows beyond the count of the call before use the gates of row 0.
// Slot: activation.silu_and_mul. Caught by: input.not_retained. Source: slots.md 14.
#include "kernels/faulty/faulty.hpp"

namespace {

using faulty::SiluArguments;

struct Fault : faulty::Silu<Fault> {
  struct Shrinking : SiluArguments {
    int64_t valid_rows;
  };
  static assay_status enqueue(const assay_call* call, const SiluArguments& a) {
    static int64_t valid_rows = INT64_MAX;
    const Shrinking shrinking{a, valid_rows};
    valid_rows = a.rows;
    return faulty::launch(call, call->host_stream, kernel, host_kernels::blocks_for(a.rows), shrinking);
  }
  static double cell(const SiluArguments& a, int64_t row, int64_t column) {
    const bool valid = row < static_cast<const Shrinking&>(a).valid_rows;
    return activate(a.x.get(valid ? row : 0, column)) * a.x.get(row, a.width + column);
  }
};

}  // namespace

FAULTY_SILU(Fault)
