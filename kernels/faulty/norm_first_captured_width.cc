// Takes a repeated call for warm-up and capture, and divides by the width of the first of these ever after.
// Slot: norm.rmsnorm. Caught by: graph.eager_after. Source: slots.md 14.
#include "kernels/faulty/faulty.hpp"

namespace {

using faulty::NormArguments;

struct Fault : faulty::Norm<Fault> {
  struct Planned : NormArguments {
    int64_t mean_over;
  };
  static double scale(const NormArguments& a, int64_t row) {
    return 1.0 / __builtin_sqrt(sum(a, row) / static_cast<double>(static_cast<const Planned&>(a).mean_over) + a.eps);
  }
  static assay_status enqueue(const assay_call* call, const NormArguments& a) {
    static const void* last_output = nullptr;
    static int64_t last_width = 0, captured_width = 0;
    const bool repeated = last_output == a.out.rows.data && last_width == a.width;
    if (repeated && captured_width == 0) captured_width = a.width;
    last_output = a.out.rows.data;
    last_width = a.width;
    const Planned planned{a, captured_width == 0 ? a.width : captured_width};
    return faulty::launch(call, call->host_stream, kernel, host_kernels::blocks_for(a.rows), planned);
  }
};

}  // namespace

FAULTY_NORM(Fault)
