#include "harness/device/cuda/host_node.hpp"

#include <dlfcn.h>
#include <link.h>

namespace assay::cuda {

bool is_nccl_code(const void* function) noexcept {
  Dl_info where{};
  if (function == nullptr || dladdr(function, &where) == 0) return false;
  void* const nccl = dlopen("libnccl.so.2", RTLD_NOW | RTLD_NOLOAD);
  if (nccl == nullptr) return false;
  link_map* map = nullptr;
  const bool its =
      dlinfo(nccl, RTLD_DI_LINKMAP, &map) == 0 && map->l_addr == reinterpret_cast<ElfW(Addr)>(where.dli_fbase);
  dlclose(nccl);
  return its;
}

}  // namespace assay::cuda
