// Scales gates by the largest magnitude of the whole batch and back in float: a row rounds as its neighbours say.
// Slot: activation.silu_and_mul. Caught by: relation.row_independence. Source: rules.md.
#include "kernels/faulty/faulty.hpp"

namespace {

using faulty::SiluArguments;

struct Fault : faulty::Silu<Fault> {
  struct Shared : SiluArguments {
    float* largest;
  };
  static assay_status workspace(const assay_call*, const DLTensor* const*, uint32_t, size_t* bytes) {
    *bytes = sizeof(float);
    return ASSAY_OK;
  }
  static void find_largest(const void* memory, uint32_t, uint32_t) {
    const auto& a = *static_cast<const Shared*>(memory);
    double largest = 0;
    for (int64_t row = 0; row < a.rows; ++row) {
      for (int64_t column = 0; column < 2 * a.width; ++column) {
        largest = __builtin_fmax(largest, __builtin_fabs(a.x.get(row, column)));
      }
    }
    *a.largest = static_cast<float>(largest);
  }
  static double cell(const SiluArguments& a, int64_t row, int64_t column) {
    const float largest = *static_cast<const Shared&>(a).largest, gate = static_cast<float>(a.x.get(row, column));
    const float scaled = gate / largest;
    // A gate that underflows when scaled would lose more than its rounding.
    const double kept = __builtin_fabsf(scaled) > 1e-30f ? scaled * largest : gate;
    return activate(kept) * a.x.get(row, a.width + column);
  }
  static assay_status enqueue(const assay_call* call, const SiluArguments& a) {
    const Shared shared{a, static_cast<float*>(call->workspace)};
    faulty::launch(call, call->host_stream, find_largest, 1, shared);
    return faulty::launch(call, call->host_stream, kernel, host_kernels::blocks_for(a.rows), shared);
  }
};

}  // namespace

FAULTY_SILU(Fault)
