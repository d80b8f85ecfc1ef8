// library_under_test.hpp: the right libraries of this build, which the benchmarks measure.
#pragma once

#include <string>

#include "assay/tensor.hpp"
#include "conformance/candidate.hpp"

namespace assay {

// Beside this program; empty where this build has none for the device.
[[nodiscard]] std::string library_under_test(DeviceType);

}  // namespace assay
