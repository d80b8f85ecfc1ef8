// Blocks add their share of a row in float in the order in which they happen to run, and it says DETERMINISTIC.
// Slot: norm.rmsnorm. Caught by: relation.repeatable. Source: rules.md.
#include "kernels/faulty/faulty.hpp"

namespace {

using faulty::NormArguments;

struct Fault : faulty::Norm<Fault> {
  struct Shared : NormArguments {
    float* sums;
  };
  static assay_status workspace(const assay_call*, const DLTensor* const* tensors, uint32_t, size_t* bytes) {
    *bytes = static_cast<size_t>(host_kernels::row_count(tensors[0])) * sizeof(float);
    return ASSAY_OK;
  }
  static void clear(const void* memory, uint32_t, uint32_t) {
    const auto& a = *static_cast<const Shared*>(memory);
    for (int64_t row = 0; row < a.rows; ++row) a.sums[row] = 0;
  }
  static void add(const void* memory, uint32_t block, uint32_t blocks) {
    const auto& a = *static_cast<const Shared*>(memory);
    const auto columns = host_kernels::rows_of_block(a.width, block, blocks);
    for (int64_t row = 0; row < a.rows; ++row) {
      double part = 0;
      for (int64_t column = columns.begin; column < columns.end; ++column) {
        part += a.x.get(row, column) * a.x.get(row, column);
      }
      a.sums[row] += static_cast<float>(part);
    }
  }
  static double sum(const NormArguments& a, int64_t row) { return static_cast<const Shared&>(a).sums[row]; }
  static assay_status enqueue(const assay_call* call, const NormArguments& a) {
    const Shared shared{a, static_cast<float*>(call->workspace)};
    const auto shares = static_cast<uint32_t>(a.width < 16 ? a.width : 16);
    faulty::launch(call, call->host_stream, clear, 1, shared);
    faulty::launch(call, call->host_stream, add, shares, shared);
    return faulty::launch(call, call->host_stream, kernel, host_kernels::blocks_for(a.rows), shared);
  }
};

}  // namespace

FAULTY_NORM(Fault)
