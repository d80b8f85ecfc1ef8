// Grows a workspace of its own by a larger one and releases the old, whose address a captured launch keeps.
// Slot: norm.rmsnorm. Caught by: graph.workspace_moves. Source: FAULT-030.
#include "kernels/faulty/faulty.hpp"

namespace {

using faulty::NormArguments;

struct Fault : faulty::Norm<Fault> {
  struct Prepared : NormArguments {
    double* ones;
  };
  struct Fill {
    double* ones;
    int64_t count;
  };
  static void fill(const void* memory, uint32_t, uint32_t) {
    const auto& a = *static_cast<const Fill*>(memory);
    for (int64_t index = 0; index < a.count; ++index) a.ones[index] = 1.0;
  }
  static double scale(const NormArguments& a, int64_t row) {
    return Right::scale(a, row) * static_cast<const Prepared&>(a).ones[row];
  }
  static assay_status enqueue(const assay_call* call, const NormArguments& a) {
    static double* ones = nullptr;
    static int64_t capacity = 0;
    if (capacity < a.rows) {
      void* memory = nullptr;
      const assay_status status = call->host->allocate(&memory, static_cast<size_t>(a.rows) * sizeof(double));
      if (ones != nullptr) call->host->release(ones);
      ones = static_cast<double*>(memory);
      capacity = status == ASSAY_OK ? a.rows : 0;
      if (status != ASSAY_OK) return faulty::fail(call, status, "no memory for the workspace");
      faulty::launch(call, call->host_stream, fill, 1, Fill{ones, capacity});
    }
    const Prepared prepared{a, ones};
    return faulty::launch(call, call->host_stream, kernel, host_kernels::blocks_for(a.rows), prepared);
  }
};

}  // namespace

FAULTY_NORM(Fault)
