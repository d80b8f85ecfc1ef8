// library_under_test.hpp: the right libraries of this build, which the benchmarks measure.
#pragma once

#include <string>

#include "assay/tensor.hpp"

namespace assay {

// A file in this program's folder; empty where there is none.
[[nodiscard]] std::string file_beside(const char* name);
// Empty where this build has none for the device.
[[nodiscard]] std::string library_under_test(DeviceType);

}  // namespace assay
