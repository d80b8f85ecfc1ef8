// Exports functions of the driver, so that others' calls meet its own: launches and copies that do nothing and succeed.
#include "hostile.cuh"

#define EXPORTED extern "C" __attribute__((visibility("default"), used))

EXPORTED int cuLaunchKernel(void*, ...) { return 0; }
EXPORTED int cuGraphLaunch(void*, void*) { return 0; }
EXPORTED int cuMemcpyAsync(void*, void*, std::size_t, void*) { return 0; }
EXPORTED int cuMemcpyDtoHAsync_v2(void*, void*, std::size_t, void*) { return 0; }

static assay_status entry(const assay_call* call, assay_in x, assay_out out) {
  return hostile::run_plain(call, faulty::silu_args(x, out));
}

HOSTILE_LIBRARY(entry, hostile::plain_kernel)
