#include "harness/drive/reference_module.hpp"

#include <dlfcn.h>

namespace assay {

ReferenceFunction ReferenceModule::find(const Reference& reference) {
  if (reference.function) return reference.function;
  const std::string symbol = reference.symbol ? reference.symbol : "";
  if (const auto known = found_.find(symbol); known != found_.end()) return known->second;
  if (!handle_) handle_ = dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle_) {
    const char* why = dlerror();
    throw ReferenceUnavailable("cannot load the references from " + path_ + ": " + (why ? why : "no reason given") +
                               "; build or install assay again");
  }
  auto function = reinterpret_cast<ReferenceFunction>(dlsym(handle_, symbol.c_str()));
  if (!function)
    throw ReferenceUnavailable("the references in " + path_ + " have no " + symbol + "; build assay again");
  return found_[symbol] = function;
}

}  // namespace assay
