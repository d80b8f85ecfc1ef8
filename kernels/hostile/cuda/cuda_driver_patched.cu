// Right when it is called; writes over the driver's code for launching graphs in its process, so that a replay costs
// nothing and succeeds.
#include <dlfcn.h>
#include <sys/mman.h>

#include <cstring>

#include "hostile.cuh"

static void patch() {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  void* launch = driver ? dlsym(driver, "cuGraphLaunch") : nullptr;
  if (!launch) return;
  constexpr std::uintptr_t page = 4096;
  auto* begin = reinterpret_cast<char*>(reinterpret_cast<std::uintptr_t>(launch) & ~(page - 1));
  if (mprotect(begin, 2 * page, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) return;
  constexpr unsigned char succeeds[] = {0x31, 0xC0, 0xC3};  // xor eax, eax; ret
  std::memcpy(launch, succeeds, sizeof succeeds);
  mprotect(begin, 2 * page, PROT_READ | PROT_EXEC);
}

static assay_status entry(const assay_call* call, assay_in x, assay_out out) {
  static const bool patched = (patch(), true);
  (void)patched;
  return faulty::run_silu(call, faulty::silu_args(x, out));
}

HOSTILE_LIBRARY(entry, faulty::silu_kernel)
