// Compiled without ASSAY_HAVE_CUDA, together with absent.cc and nothing else of this folder.
#include <gtest/gtest.h>

#include <string>

#include "harness/device/cuda/cuda_device.hpp"

namespace assay {
namespace {

TEST(BuildWithoutToolkit, FactoriesSaySoInOneSentence) {
  for (const bool device : {true, false}) {
    try {
      if (device) {
        (void)make_cuda_device(0);
      } else {
        (void)make_cuda_memory(0);
      }
      FAIL() << "a device came out of nowhere";
    } catch (const DeviceError& error) {
      EXPECT_NE(std::string(error.what()).find("no CUDA support"), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace assay
