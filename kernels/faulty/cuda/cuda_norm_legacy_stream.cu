// The kernel is launched on the legacy default stream instead of the call's, and races its producer.
// Slot: norm.rmsnorm. Caught by: stream.ordered. Source: FAULT-038.
#include "faulty.cuh"

static assay_status entry(const assay_call* call, assay_in x, assay_in weight, assay_out out, double eps) {
  const faulty::Rmsnorm a = faulty::rmsnorm_args(x, weight, out, eps);
  if (a.out.rows > 0) faulty::rmsnorm_kernel<<<faulty::blocks(a.out), faulty::kThreads>>>(a);
  return faulty::launched(call);
}

FAULTY_RMSNORM(entry, faulty::rmsnorm_kernel)
