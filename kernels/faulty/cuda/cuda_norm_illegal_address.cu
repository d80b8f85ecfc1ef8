// For row counts of 1 modulo 7 and rows wider than 64 cells one thread reads an address that is mapped nowhere; the
// error is sticky.
// Slot: norm.rmsnorm. Caught by: verdict.attribution. Source: blame:device_fault.
#include "faulty.cuh"

static __global__ void wild_rmsnorm_kernel(faulty::Rmsnorm a) {
  if (a.out.rows % 7 == 1 && a.x.columns > 64 && blockIdx.x == 0 && threadIdx.x == 0)
    a.out.set(0, 0, *reinterpret_cast<const volatile float*>(std::uintptr_t{0x10}));
  for (std::int64_t row = blockIdx.x; row < a.out.rows; row += gridDim.x)
    faulty::store_row(a, row, faulty::row_scale(a, row));
}

static assay_status entry(const assay_call* call, assay_in x, assay_in weight, assay_out out, double eps) {
  const faulty::Rmsnorm a = faulty::rmsnorm_args(x, weight, out, eps);
  if (a.out.rows > 0) wild_rmsnorm_kernel<<<faulty::blocks(a.out), faulty::kThreads, 0, call->cuda_stream>>>(a);
  return faulty::launched(call);
}

FAULTY_RMSNORM(entry, wild_rmsnorm_kernel)
