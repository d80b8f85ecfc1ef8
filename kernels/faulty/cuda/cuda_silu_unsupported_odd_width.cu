// Calls of odd width are answered with ASSAY_UNSUPPORTED, although the variant declares the whole slot.
// Slot: activation.silu_and_mul. Caught by: write.no_return. Source: rules.md.
#include "faulty.cuh"

static assay_status entry(const assay_call* call, assay_in x, assay_out out) {
  const faulty::Silu a = faulty::silu_args(x, out);
  return a.out.columns % 2 == 1 ? ASSAY_UNSUPPORTED : faulty::run_silu(call, a);
}

FAULTY_SILU(entry, faulty::silu_kernel)
