#include "harness/worker/nccl.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cstring>

#include "harness/device/memory.hpp"
#include "harness/device/owned_fd.hpp"

namespace assay {
namespace {

constexpr const char* kName = "libnccl.so.2";
constexpr char kOnlyInside[] = "NCCL_COMM_ID";

template <class Function>
void find(void* library, const char* name, Function& function, const std::string& path) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (!function) throw DeviceError("NCCL at " + path + " does not export " + name + "; 2.4 or later is needed");
}

}  // namespace

std::string nccl_version_text(int code) {
  const int major = code < 10000 ? code / 1000 : code / 10000;
  const int minor = code < 10000 ? code / 100 % 10 : code / 100 % 100;
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(code % 100);
}

std::optional<NcclLibrary> loaded_nccl() {
  void* const library = dlopen(kName, RTLD_NOW | RTLD_NOLOAD);  // by soname; stays, as the candidate does
  if (!library) return std::nullopt;
  NcclLibrary found;
  link_map* map = nullptr;
  found.path = dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map->l_name ? map->l_name : kName;
#define ASSAY_NCCL_FIND(name) find(library, #name, found.api.name, found.path)
  ASSAY_NCCL_FIND(ncclGetVersion);
  ASSAY_NCCL_FIND(ncclGetUniqueId);
  ASSAY_NCCL_FIND(ncclCommInitRank);
  ASSAY_NCCL_FIND(ncclCommAbort);
  ASSAY_NCCL_FIND(ncclCommGetAsyncError);
  ASSAY_NCCL_FIND(ncclAllReduce);
  ASSAY_NCCL_FIND(ncclGetErrorString);
#undef ASSAY_NCCL_FIND
  int version = 0;
  if (found.api.ncclGetVersion(&version) != kNcclSuccess)
    throw DeviceError("NCCL at " + found.path + " has no version");
  found.version = nccl_version_text(version);
  return found;
}

bool holds_nccl(const std::string& path) {
  const OwnedFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat info {};
  if (file.get() < 0 || fstat(file.get(), &info) != 0 || info.st_size <= 0) return false;
  const auto bytes = static_cast<std::size_t>(info.st_size);
  void* const memory = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (memory == MAP_FAILED) return false;
  const bool found = memmem(memory, bytes, kOnlyInside, sizeof kOnlyInside) != nullptr;  // with its end
  munmap(memory, bytes);
  return found;
}

}  // namespace assay
