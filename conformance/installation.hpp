// installation.hpp: where this program's own parts lie: the worker program and the reference module.
//
// Promises: beside the program (build tree), else under ../lib/assay and ../libexec/assay (installed). Nothing is
// taken from the environment.
#pragma once

#include <string>

namespace assay {

[[nodiscard]] std::string own_path();
[[nodiscard]] std::string worker_path();
[[nodiscard]] std::string reference_path();

}  // namespace assay
