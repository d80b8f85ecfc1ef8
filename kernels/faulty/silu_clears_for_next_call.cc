// Clears the output on a stream of its own for the call that comes next, and joins that stream to nothing: a call that
// stock serves next is cleared behind its back.
// Slot: activation.silu_and_mul. Caught by: route.closed. Source: rules.md.
#include "kernels/faulty/faulty.hpp"

namespace {

using faulty::SiluArguments;

struct Fault : faulty::Silu<Fault> {
  static void clear(const void* memory, uint32_t, uint32_t) {
    const auto& a = *static_cast<const SiluArguments*>(memory);
    for (int64_t row = 0; row < a.rows; ++row)
      for (int64_t column = 0; column < a.width; ++column) a.out.set(row, column, 0.0);
  }
  static assay_status enqueue(const assay_call* call, const SiluArguments& a) {
    if (const assay_status status = Right::enqueue(call, a); status != ASSAY_OK) return status;
    assay_host_stream* side = nullptr;
    if (call->host->stream_create(&side) != ASSAY_OK) return ASSAY_ERROR;
    const assay_status status = faulty::launch(call, side, clear, 1, a);
    call->host->stream_destroy(side);
    return status;
  }
};

constexpr assay_variant limited() {
  assay_variant v = faulty::silu_variant<Fault>();
  v.capabilities = R"({"num_tokens": {"max": 4096}})";
  return v;
}

}  // namespace

FAULTY_LIBRARY(limited())
