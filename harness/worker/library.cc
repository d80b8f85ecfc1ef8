#include "harness/worker/library.hpp"

#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

extern "C" __attribute__((weak)) const assay_library* assay_get_library(uint32_t);

namespace assay {
namespace {

// Under the gate a worker is another user than its judge.
std::string closed_text(const std::string& path) {
  const std::string whose = "user " + std::to_string(geteuid()) + ", under which this worker runs, ";
  for (std::size_t slash = 1; (slash = path.find('/', slash)) != std::string::npos; ++slash)
    if (const std::string folder = path.substr(0, slash); access(folder.c_str(), X_OK) != 0)
      return whose + "cannot pass " + folder + " on the way to " + path + "; open it (chmod o+x " + folder +
             "), or copy the library to a folder that is open to others";
  return whose + "cannot read " + path + "; open it to others (chmod o+r " + path + ")";
}

}  // namespace

const assay_library* open_library(const std::string& path) {
  using Get = const assay_library* (*)(uint32_t);
  Get get = nullptr;
  const std::string name = path.empty() ? "the linked candidate" : path;
  if (path.empty()) {
    get = &assay_get_library;
    if (!get) throw LoadFailure("no_symbol", "no candidate is linked into this worker: name a library to load");
  } else {
    struct stat info = {};
    if (access(path.c_str(), R_OK) != 0 && errno == EACCES) throw LoadFailure("closed", closed_text(path));
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
