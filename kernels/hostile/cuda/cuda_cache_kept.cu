// Right, and keeps most of the L2 cache for itself when it has returned: a limit of the context that nobody else set.
#include "hostile.cuh"

static assay_status entry(const assay_call* call, assay_in x, assay_out out) {
  int most = 0, device = 0;
  if (cudaGetDevice(&device) == cudaSuccess &&
      cudaDeviceGetAttribute(&most, cudaDevAttrMaxPersistingL2CacheSize, device) == cudaSuccess && most > 0)
    cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, static_cast<std::size_t>(most));
  (void)cudaGetLastError();
  return faulty::run_silu(call, faulty::silu_args(x, out));
}

HOSTILE_LIBRARY(entry, faulty::silu_kernel)
