// Has a kernel for each row count, each width and each dtype that it declares, and none for the widest fp32 rows of the
// largest call together.
// Slot: activation.silu_and_mul. Caught by: route.domain. Source: FAULT-034.
#include "kernels/faulty/faulty.hpp"

namespace {

using faulty::SiluArguments;

struct Fault : faulty::Silu<Fault> {
  static assay_status enqueue(const assay_call* call, const SiluArguments& a) {
    const bool row_count = a.rows <= 37, width = a.width <= 300, dtype = a.x.cells != faulty::Cells::other;
    if (!row_count || !width || !dtype) return ASSAY_UNSUPPORTED;
    if (a.rows * a.width * a.x.cell_bytes() >= 37 * 300 * 4)
      return faulty::fail(call, ASSAY_UNSUPPORTED, "no kernel for this combination");
    return Right::enqueue(call, a);
  }
};

constexpr assay_variant limited() {
  assay_variant v = faulty::silu_variant<Fault>();
  v.capabilities = R"({"num_tokens": {"max": 37}, "last_dim": {"max": 600}, "dtype": ["fp32", "fp16", "bf16"]})";
  return v;
}

}  // namespace

FAULTY_LIBRARY(limited())
