// Wrong for fewer than 8 rows once the process has seen a call of more than 64 rows.
// Slot: norm.rmsnorm. Caught by: input.not_retained. Source: rules.md.
#include "kernels/faulty/faulty.hpp"

namespace {

using faulty::NormArguments;

struct Fault : faulty::Norm<Fault> {
  struct Sticky : NormArguments {
    double factor;
  };
  static assay_status enqueue(const assay_call* call, const NormArguments& a) {
    static int64_t most_rows = 0;
    const Sticky sticky{a, most_rows > 64 && a.rows < 8 ? 1.5 : 1.0};
    if (a.rows > most_rows) most_rows = a.rows;
    return faulty::launch(call, call->host_stream, kernel, host_kernels::blocks_for(a.rows), sticky);
  }
  static double scale(const NormArguments& a, int64_t row) {
    return Right::scale(a, row) * static_cast<const Sticky&>(a).factor;
  }
};

}  // namespace

FAULTY_NORM(Fault)
