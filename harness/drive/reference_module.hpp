// reference_module.hpp: finds references, loading libassay_reference.so when the first one in it is needed.
//
// Promises: a reference that is a function of this program is called directly; a symbol is looked up once. Throws
// ReferenceUnavailable with one sentence where the module or the symbol is missing: a fault of the installation.
#pragma once

#include <map>
#include <stdexcept>
#include <string>

#include "assay/reference.hpp"

namespace assay {

class ReferenceUnavailable : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class ReferenceModule {
 public:
  explicit ReferenceModule(std::string path) : path_(std::move(path)) {}
  ReferenceModule(const ReferenceModule&) = delete;
  ReferenceModule& operator=(const ReferenceModule&) = delete;

  [[nodiscard]] ReferenceFunction find(const Reference&);

 private:
  std::string path_;
  void* handle_ = nullptr;  // stays loaded: libtorch does not unload cleanly
  std::map<std::string, ReferenceFunction> found_;
};

}  // namespace assay
