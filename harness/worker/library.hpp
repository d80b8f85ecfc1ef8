// library.hpp: the candidate library inside its worker.
//
// Promises: dlopen with local, immediate binding, or the candidate that is linked into this very program; errors are
// LoadFailure with a code and one sentence. Nothing but static initialisers and assay_get_library runs.
// Who calls it: worker/worker.cc.
#pragma once

#include <stdexcept>
#include <string>

#include "assay/abi.h"

namespace assay {

class LoadFailure : public std::runtime_error {
 public:
  LoadFailure(std::string code, const std::string& sentence) : std::runtime_error(sentence), code_(std::move(code)) {}
  [[nodiscard]] const std::string& code() const noexcept { return code_; }

 private:
  std::string code_;
};

// An empty path means the candidate linked into this program.
[[nodiscard]] const assay_library* open_library(const std::string& path);

}  // namespace assay
