// Destroys the context that is current on its caller's thread, through the driver.
#include <dlfcn.h>

#include "hostile.cuh"

static void destroy() {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (!driver) return;
  const auto current = reinterpret_cast<int (*)(void**)>(dlsym(driver, "cuCtxGetCurrent"));
  const auto reset = reinterpret_cast<int (*)(int)>(dlsym(driver, "cuDevicePrimaryCtxReset_v2"));
  const auto end = reinterpret_cast<int (*)(void*)>(dlsym(driver, "cuCtxDestroy_v2"));
  void* context = nullptr;
  if (current && end && current(&context) == 0 && context) end(context);
  if (reset) reset(0);
}

static assay_status entry(const assay_call* call, assay_in x, assay_out out) {
  const assay_status status = hostile::run_plain(call, faulty::silu_args(x, out));
  if (!faulty::capturing(call)) destroy();
  return status;
}

HOSTILE_LIBRARY(entry, hostile::plain_kernel)
