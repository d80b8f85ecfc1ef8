// The communicator against a scripted driver and a scripted NCCL: what it waits for, and what it says of either's
// errors.
#include "harness/worker/communicator.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "harness/device/cuda/fake_driver.hpp"
#include "harness/device/memory.hpp"

namespace assay {
namespace {

class CommunicatorTest : public testing::Test {
 protected:
  CommunicatorTest() {
    current_ = this;
    driver_ = fake_.api();
    // The one word lies where the fake's copies reach.
    driver_.cuMemAlloc = [](CUdeviceptr* p, std::size_t) { return *p = FakeDriver::kStore, CUDA_SUCCESS; };
    driver_.cuMemFree = [](CUdeviceptr) { return CUDA_SUCCESS; };
    fake_.store.assign(sizeof(std::uint64_t), std::byte{0});
    nccl_.ncclGetUniqueId = [](NcclUniqueId* id) { return id->bytes[0] = 'u', current_->id_result_; };
    nccl_.ncclCommInitRank = [](ncclComm** comm, int, NcclUniqueId id, int rank) {
      EXPECT_EQ(id.bytes[0], 'u');
      EXPECT_EQ(rank, 1);
      *comm = reinterpret_cast<ncclComm*>(0x42);
      return current_->init_result_;
    };
    nccl_.ncclCommAbort = [](ncclComm*) { return ++current_->aborts_, kNcclSuccess; };
    nccl_.ncclCommGetAsyncError = [](ncclComm*, int* error) { return *error = current_->async_error_, kNcclSuccess; };
    nccl_.ncclAllReduce = [](const void* from, void* to, std::size_t count, int type, int op, ncclComm*,
                             CUstream_st* stream) {
      EXPECT_TRUE(from == to && count == 1 && type == kNcclUint64 && op == kNcclSum);
      current_->driver_.cuStreamSynchronize(stream);  // what comes before on the stream
      std::uint64_t word = 0;
      std::memcpy(&word, current_->fake_.store.data(), sizeof word);
      word += current_->others_;
      std::memcpy(current_->fake_.store.data(), &word, sizeof word);
      return current_->reduce_result_;
    };
    nccl_.ncclGetErrorString = [](int) { return "as the test says"; };
  }

  std::unique_ptr<Communicator> connected() {
    auto c = make_communicator(nccl_, driver_, 0);
    NcclUniqueId id{};
    EXPECT_EQ(c->make_id(id), "");
    EXPECT_EQ(c->connect(id, 1, 2), "");
    return c;
  }

  static CommunicatorTest* current_;
  FakeDriver fake_;
  cuda::DriverApi driver_;
  NcclApi nccl_;
  int id_result_ = 0, init_result_ = 0, reduce_result_ = 0, async_error_ = 0, aborts_ = 0;
  std::uint64_t others_ = 0;
};
CommunicatorTest* CommunicatorTest::current_ = nullptr;

const std::function<bool()> kNever = [] { return false; };

TEST_F(CommunicatorTest, TheControlAddsUpOverTheGroup) {
  others_ = 500;
  const auto c = connected();
  EXPECT_NE(c->handle(), nullptr);
  std::uint64_t sum = 0;
  fake_.fail("cuStreamQuery", CUDA_ERROR_NOT_READY);
  int polls = 0;
  const Outcome o = c->add_up(7, sum, [&] {
    if (++polls == 5) fake_.fail("cuStreamQuery", CUDA_SUCCESS);
    return false;
  });
  EXPECT_TRUE(o.ok()) << o.text;
  EXPECT_EQ(sum, 507u);
  EXPECT_EQ(polls, 5);
  EXPECT_EQ(aborts_, 0);
}

TEST_F(CommunicatorTest, AnAbortedGroupEndsTheWaitAndTheCommunicator) {
  auto c = connected();
  fake_.fail("cuStreamQuery", CUDA_ERROR_NOT_READY);
  std::uint64_t sum = 0;
  EXPECT_EQ(c->add_up(7, sum, [] { return true; }).code, StepCode::peer_gone);
  EXPECT_EQ(aborts_, 1);
  EXPECT_EQ(c->add_up(7, sum, kNever).code, StepCode::infrastructure) << "it does not come back";
  c.reset();
  EXPECT_EQ(aborts_, 1) << "once";
}

TEST_F(CommunicatorTest, ErrorsOfEitherAreTheMachinesAndSayWhose) {
  const auto c = connected();
  std::uint64_t sum = 0;
  reduce_result_ = 3;
  Outcome o = c->add_up(1, sum, kNever);
  EXPECT_EQ(o.code, StepCode::infrastructure);
  EXPECT_EQ(o.text, "ncclAllReduce: as the test says");
  reduce_result_ = 0;
  fake_.fail("cuStreamQuery", CUDA_ERROR_ECC_UNCORRECTABLE);
  o = c->add_up(1, sum, kNever);
  EXPECT_EQ(o.code, StepCode::infrastructure);
  EXPECT_NE(o.text.find("cuStreamQuery"), std::string::npos) << o.text;
}

TEST_F(CommunicatorTest, WhatNcclNoticesByItself) {
  const auto c = connected();
  EXPECT_TRUE(c->failure().ok());
  async_error_ = kNcclInProgress;
  EXPECT_TRUE(c->failure().ok());
  async_error_ = kNcclRemoteError;
  EXPECT_EQ(c->failure().code, StepCode::peer_gone);
  async_error_ = kNcclSystemError;
  EXPECT_EQ(c->failure().code, StepCode::peer_gone);
  async_error_ = 3;
  EXPECT_EQ(c->failure().code, StepCode::infrastructure);
}

TEST_F(CommunicatorTest, ARefusedGroupIsASentenceAndNoHandle) {
  id_result_ = 2;
  init_result_ = 5;
  const auto c = make_communicator(nccl_, driver_, 0);
  NcclUniqueId id{};
  EXPECT_EQ(c->make_id(id), "ncclGetUniqueId: as the test says");
  EXPECT_EQ(c->connect(id, 1, 2), "ncclCommInitRank: as the test says");
  EXPECT_EQ(c->handle(), nullptr);
  EXPECT_TRUE(c->failure().ok());
}

TEST_F(CommunicatorTest, LeavesNothingBehindAndTouchesNoHandleOfAResetContext) {
  auto c = connected();
  c.reset();
  EXPECT_EQ(aborts_, 1);
  EXPECT_TRUE(fake_.live.empty());
  c = connected();
  fake_.context_id = 2;
  c.reset();
  EXPECT_EQ(aborts_, 1);
}

}  // namespace
}  // namespace assay
