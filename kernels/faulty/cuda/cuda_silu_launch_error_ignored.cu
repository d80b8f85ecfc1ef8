// A block has one thread for each column; rows wider than 1024 make the launch invalid, nobody asks, and the entry says
// ASSAY_OK.
// Slot: activation.silu_and_mul. Caught by: write.every_cell. Source: rules.md.
#include "faulty.cuh"

static assay_status entry(const assay_call* call, assay_in x, assay_out out) {
  const faulty::Silu a = faulty::silu_args(x, out);
  const unsigned threads = static_cast<unsigned>(a.out.columns);
  if (a.out.rows > 0) faulty::silu_kernel<<<faulty::blocks(a.out), threads, 0, call->cuda_stream>>>(a);
  return ASSAY_OK;
}

FAULTY_SILU(entry, faulty::silu_kernel)
