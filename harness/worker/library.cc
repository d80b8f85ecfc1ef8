#include "harness/worker/library.hpp"

#include <dlfcn.h>
#include <sys/stat.h>

extern "C" __attribute__((weak)) const assay_library* assay_get_library(uint32_t);

namespace assay {

const assay_library* open_library(const std::string& path) {
  using Get = const assay_library* (*)(uint32_t);
  Get get = nullptr;
  const std::string name = path.empty() ? "the linked candidate" : path;
  if (path.empty()) {
    get = &assay_get_library;
    if (!get) throw LoadFailure("no_symbol", "no candidate is linked into this worker: name a library to load");
  } else {
    struct stat info = {};
    if (stat(path.c_str(), &info) != 0)
      throw LoadFailure("no_file", "no such file: " + path + "; name the candidate's shared library");
    if (!S_ISREG(info.st_mode))
      throw LoadFailure("not_loadable", path + " is not a regular file; name the candidate's shared library");
    void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
      const char* why = dlerror();
      throw LoadFailure("not_loadable", path + " is not a loadable library (" + (why ? why : "no reason given") +
                                            "); build it as a shared library for this machine");
    }
    get = reinterpret_cast<Get>(dlsym(handle, "assay_get_library"));
    if (!get)
      throw LoadFailure("no_symbol", path + " does not export assay_get_library; include assay/abi.h and define it "
                                            "with C linkage");
  }
  const assay_library* library = get(ASSAY_ABI_VERSION);
  if (!library)
    throw LoadFailure("abi_version", name + " cannot serve ABI version " + std::to_string(ASSAY_ABI_VERSION) +
                                         ": assay_get_library returned NULL; build it against this assay/abi.h");
  return library;
}

}  // namespace assay
