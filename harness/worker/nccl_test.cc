#include "harness/worker/nccl.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>

#if __has_include(<nccl.h>) && __has_include(<cuda_runtime.h>)
#include <nccl.h>
static_assert(sizeof(assay::NcclUniqueId) == sizeof(ncclUniqueId));
static_assert(assay::kNcclSuccess == ncclSuccess && assay::kNcclSystemError == ncclSystemError &&
              assay::kNcclRemoteError == ncclRemoteError && assay::kNcclInProgress == ncclInProgress);
static_assert(assay::kNcclSum == ncclSum && assay::kNcclUint64 == ncclUint64);
#endif

namespace assay {
namespace {

std::string file_with(const std::string& bytes) {
  char path[] = "/tmp/assay-nccl-test-XXXXXX";
  close(mkstemp(path));
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

TEST(Nccl, VersionsReadAsNcclWritesThem) {
  EXPECT_EQ(nccl_version_text(22809), "2.28.9");
  EXPECT_EQ(nccl_version_text(22005), "2.20.5");
  EXPECT_EQ(nccl_version_text(21005), "2.10.5");
  EXPECT_EQ(nccl_version_text(2804), "2.8.4");
}

TEST(Nccl, NoneIsEverLoaded) { EXPECT_FALSE(loaded_nccl()); }

TEST(Nccl, AStaticOneIsFoundByANameThatOnlyItReads) {
  const std::string with = file_with(std::string(5000, 'x') + std::string("NCCL_COMM_ID\0", 13) + "y");
  const std::string without = file_with(std::string("NCCL_COMM_IDENTITY\0NCCL_DEBUG\0ncclAllReduce\0", 45));
  EXPECT_TRUE(holds_nccl(with));
  EXPECT_FALSE(holds_nccl(without)) << "names that programs mention, or that only begin alike";
  EXPECT_FALSE(holds_nccl("/no/such/file"));
  EXPECT_FALSE(holds_nccl(file_with("")));
  EXPECT_FALSE(holds_nccl(ASSAY_HOST_KERNELS));
  std::remove(with.c_str());
  std::remove(without.c_str());
}

}  // namespace
}  // namespace assay
