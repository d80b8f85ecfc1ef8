#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "harness/device/cuda/fake_driver.hpp"
#include "harness/device/memory.hpp"

namespace assay {
namespace {

struct Row {
  CUresult result;
  StepCode code;
};

class OutcomeTable : public testing::TestWithParam<Row> {};

TEST_P(OutcomeTable, NamesTheStepCode) { EXPECT_EQ(cuda::step_code(GetParam().result), GetParam().code); }

INSTANTIATE_TEST_SUITE_P(CandidateBrokeTheContext, OutcomeTable,
                         testing::Values(Row{CUDA_ERROR_ILLEGAL_ADDRESS, StepCode::device_fault},
                                         Row{CUDA_ERROR_MISALIGNED_ADDRESS, StepCode::device_fault},
                                         Row{CUDA_ERROR_INVALID_ADDRESS_SPACE, StepCode::device_fault},
                                         Row{CUDA_ERROR_INVALID_PC, StepCode::device_fault},
                                         Row{CUDA_ERROR_ILLEGAL_INSTRUCTION, StepCode::device_fault},
                                         Row{CUDA_ERROR_HARDWARE_STACK_ERROR, StepCode::device_fault},
                                         Row{CUDA_ERROR_ASSERT, StepCode::device_fault},
                                         Row{CUDA_ERROR_LAUNCH_FAILED, StepCode::device_fault},
                                         Row{CUDA_ERROR_LAUNCH_TIMEOUT, StepCode::device_fault},
                                         Row{CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, StepCode::device_fault},
                                         Row{CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING, StepCode::device_fault},
                                         Row{CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, StepCode::device_fault},
                                         Row{CUDA_ERROR_INVALID_CLUSTER_SIZE, StepCode::device_fault},
                                         Row{CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION, StepCode::device_fault},
                                         Row{CUDA_ERROR_CONTEXT_IS_DESTROYED, StepCode::device_fault}));

INSTANTIATE_TEST_SUITE_P(IllegalInCapture, OutcomeTable,
                         testing::Values(Row{CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, StepCode::capture_illegal},
                                         Row{CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, StepCode::capture_illegal},
                                         Row{CUDA_ERROR_STREAM_CAPTURE_MERGE, StepCode::capture_illegal},
                                         Row{CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, StepCode::capture_illegal},
                                         Row{CUDA_ERROR_STREAM_CAPTURE_ISOLATION, StepCode::capture_illegal},
                                         Row{CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, StepCode::capture_illegal},
                                         Row{CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, StepCode::capture_illegal},
                                         Row{CUDA_ERROR_CAPTURED_EVENT, StepCode::capture_illegal},
                                         Row{CUDA_ERROR_STREAM_CAPTURE_UNJOINED, StepCode::capture_unjoined}));

INSTANTIATE_TEST_SUITE_P(MachineOrDevice, OutcomeTable,
                         testing::Values(Row{CUDA_ERROR_OUT_OF_MEMORY, StepCode::out_of_memory},
                                         Row{CUDA_ERROR_NOT_SUPPORTED, StepCode::unsupported},
                                         Row{CUDA_ERROR_NOT_INITIALIZED, StepCode::infrastructure},
                                         Row{CUDA_ERROR_DEINITIALIZED, StepCode::infrastructure},
                                         Row{CUDA_ERROR_STUB_LIBRARY, StepCode::infrastructure},
                                         Row{CUDA_ERROR_DEVICE_UNAVAILABLE, StepCode::infrastructure},
                                         Row{CUDA_ERROR_NO_DEVICE, StepCode::infrastructure},
                                         Row{CUDA_ERROR_INVALID_DEVICE, StepCode::infrastructure},
                                         Row{CUDA_ERROR_DEVICE_NOT_LICENSED, StepCode::infrastructure},
                                         Row{CUDA_ERROR_ECC_UNCORRECTABLE, StepCode::infrastructure},
                                         Row{CUDA_ERROR_NVLINK_UNCORRECTABLE, StepCode::infrastructure},
                                         Row{CUDA_ERROR_OPERATING_SYSTEM, StepCode::infrastructure},
                                         Row{CUDA_ERROR_SYSTEM_NOT_READY, StepCode::infrastructure},
                                         Row{CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, StepCode::infrastructure},
                                         Row{CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE, StepCode::infrastructure},
                                         Row{CUDA_ERROR_MPS_CONNECTION_FAILED, StepCode::infrastructure},
                                         Row{CUDA_ERROR_MPS_RPC_FAILURE, StepCode::infrastructure},
                                         Row{CUDA_ERROR_MPS_SERVER_NOT_READY, StepCode::infrastructure},
                                         Row{CUDA_ERROR_MPS_MAX_CLIENTS_REACHED, StepCode::infrastructure},
                                         Row{CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED, StepCode::infrastructure},
                                         Row{CUDA_ERROR_MPS_CLIENT_TERMINATED, StepCode::infrastructure},
                                         Row{CUDA_ERROR_EXTERNAL_DEVICE, StepCode::infrastructure},
                                         Row{CUDA_ERROR_UNKNOWN, StepCode::infrastructure}));

TEST(OutcomeTable, SuccessIsOkAndAnErrorWithoutARowIsNobodysFault) {
  EXPECT_EQ(cuda::step_code(CUDA_SUCCESS), StepCode::ok);
  EXPECT_EQ(cuda::step_code(CUDA_ERROR_INVALID_VALUE), StepCode::infrastructure);
  EXPECT_EQ(cuda::step_code(static_cast<CUresult>(123456)), StepCode::infrastructure);
}

TEST(DriverTable, LooksUpTheVersionsItWasCompiledAgainst) {
  const auto& symbols = cuda::symbols();
  const auto has = [&](const std::string& name) { return std::count(symbols.begin(), symbols.end(), name) == 1; };
  EXPECT_TRUE(has("cuMemAlloc_v2"));
  EXPECT_TRUE(has("cuStreamBeginCapture_v2"));
  EXPECT_TRUE(has("cuStreamWaitValue32_v2"));
  EXPECT_TRUE(has("cuDevicePrimaryCtxRelease_v2"));
  EXPECT_TRUE(has("cuGraphInstantiateWithFlags"));
  EXPECT_FALSE(has("cuMemAlloc"));
}

TEST(DriverTable, IsLoadedOnlyWhenAskedAndAMissingDriverIsOneSentence) {
  ASSERT_EQ(dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD), nullptr) << "something in this program links the driver";
  if (void* present = dlopen("libcuda.so.1", RTLD_NOW)) {
    dlclose(present);
    EXPECT_NE(cuda::driver().cuGraphLaunch, nullptr);
    return;
  }
  for (int attempt = 0; attempt < 2; ++attempt) {
    try {
      (void)make_cuda_memory(0);
      FAIL() << "a driver came out of nowhere";
    } catch (const DeviceError& error) {
      EXPECT_NE(std::string(error.what()).find("libcuda.so.1"), std::string::npos) << error.what();
    }
  }
}

TEST(PrimaryContext, IsGivenBackWhenItCannotBeMadeCurrent) {
  FakeDriver fake;
  fake.fail("cuCtxSetCurrent", CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_THROW(cuda::PrimaryContext(fake.api(), 0), DeviceError);
  EXPECT_TRUE(fake.live.empty());
}

TEST(PrimaryContext, NamesTheCallThatFailed) {
  FakeDriver fake;
  fake.fail("cuInit", CUDA_ERROR_NO_DEVICE);
  try {
    cuda::PrimaryContext context(fake.api(), 0);
    FAIL();
  } catch (const DeviceError& error) {
    EXPECT_STREQ(error.what(), "CUDA: cuInit: CUDA_ERROR_SCRIPTED (as the test says)");
  }
}

TEST(PrimaryContext, RefusesAnOrdinalThatIsNotVisible) {
  FakeDriver fake;
  for (const int ordinal : {-1, 2, 99}) EXPECT_THROW(cuda::PrimaryContext(fake.api(), ordinal), DeviceError) << ordinal;
  EXPECT_TRUE(fake.live.empty());
}

}  // namespace
}  // namespace assay
