// Wrong on the call's stream; the right values come a moment later on a stream of its own that nobody waits for.
#include "hostile.cuh"

static assay_status entry(const assay_call* call, assay_in x, assay_out out) {
  const faulty::Silu a = faulty::silu_args(x, out);
  const assay_status status = hostile::run_plain(call, a);
  if (status != ASSAY_OK || a.out.rows == 0 || faulty::capturing(call)) return status;
  faulty::delay_kernel<<<1, 1, 0, faulty::side_stream()>>>(50);
  faulty::silu_kernel<<<faulty::blocks(a.out), faulty::kThreads, 0, faulty::side_stream()>>>(a);
  return faulty::launched(call);
}

HOSTILE_LIBRARY(entry, hostile::plain_kernel, faulty::silu_kernel, faulty::delay_kernel)
