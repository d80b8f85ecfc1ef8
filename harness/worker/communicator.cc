#include "harness/worker/communicator.hpp"

#ifdef ASSAY_HAVE_CUDA
#include <unistd.h>

#include <chrono>

#include "harness/device/cuda/driver.hpp"
#endif
#include "harness/device/memory.hpp"

namespace assay {

#ifdef ASSAY_HAVE_CUDA
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kEagerPolls = 1000;  // before it sleeps between two
constexpr useconds_t kNapMicroseconds = 100;

class NcclCommunicator final : public Communicator {
 public:
  NcclCommunicator(const NcclApi& nccl, const cuda::DriverApi& driver, int ordinal)
      : nccl_(nccl), driver_(driver), context_(driver, ordinal) {
    try {
      cuda::require(driver_, "cuStreamCreate", driver_.cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING));
      cuda::require(driver_, "cuMemAlloc", driver_.cuMemAlloc(&word_, sizeof(std::uint64_t)));
    } catch (...) {
      close();
      throw;
    }
  }
  ~NcclCommunicator() override {
    abort();
    close();
  }

  [[nodiscard]] ncclComm* handle() const noexcept override { return comm_; }

  std::string make_id(NcclUniqueId& id) override {
    if (const CUresult result = context_.make_current(); result != CUDA_SUCCESS) return driver_text(result);
    return nccl_text("ncclGetUniqueId", nccl_.ncclGetUniqueId(&id));
  }

  std::string connect(const NcclUniqueId& id, int rank, int world) override {
    if (const CUresult result = context_.make_current(); result != CUDA_SUCCESS) return driver_text(result);
    const int result = nccl_.ncclCommInitRank(&comm_, world, id, rank);
    if (result != kNcclSuccess) comm_ = nullptr;
    return nccl_text("ncclCommInitRank", result);
  }

  Outcome add_up(std::uint64_t mine, std::uint64_t& sum, const std::function<bool()>& aborted) override {
    if (!comm_) return {StepCode::infrastructure, "the group's communicator was aborted"};
    if (Outcome o = outcome("cuCtxSetCurrent", context_.make_current()); !o.ok()) return o;
    if (Outcome o = outcome("cuMemcpyHtoDAsync", driver_.cuMemcpyHtoDAsync(word_, &mine, sizeof mine, stream_));
        !o.ok())
      return o;
    void* const word = reinterpret_cast<void*>(word_);
    if (const int result = nccl_.ncclAllReduce(word, word, 1, kNcclUint64, kNcclSum, comm_, stream_);
        result != kNcclSuccess)
      return {StepCode::infrastructure, nccl_text("ncclAllReduce", result)};
    if (Outcome o = wait(aborted); !o.ok()) return o;
    if (Outcome o = outcome("cuMemcpyDtoHAsync", driver_.cuMemcpyDtoHAsync(&sum, word_, sizeof sum, stream_)); !o.ok())
      return o;
    return outcome("cuStreamSynchronize", driver_.cuStreamSynchronize(stream_));
  }

  Outcome failure() override {
    if (!comm_) return {};
    int error = kNcclSuccess;
    const int asked = nccl_.ncclCommGetAsyncError(comm_, &error);
    if (asked != kNcclSuccess) return {StepCode::infrastructure, nccl_text("ncclCommGetAsyncError", asked)};
    switch (error) {
      case kNcclSuccess:
      case kNcclInProgress:
        return {};
      case kNcclRemoteError:
      case kNcclSystemError:  // a socket to a peer that has ended
        return {StepCode::peer_gone, nccl_text("NCCL noticed", error)};
      default:
        return {StepCode::infrastructure, nccl_text("NCCL noticed", error)};
    }
  }

 private:
  [[nodiscard]] std::string nccl_text(const char* call, int result) const {
    if (result == kNcclSuccess) return {};
    const char* const text = nccl_.ncclGetErrorString(result);
    return std::string(call) + ": " + (text ? text : "ncclResult_t " + std::to_string(result));
  }
  [[nodiscard]] std::string driver_text(CUresult result) const {
    return cuda::describe(driver_, "cuCtxSetCurrent", result);
  }
  [[nodiscard]] Outcome outcome(const char* call, CUresult result) const {
    if (result == CUDA_SUCCESS) return {};
    return {StepCode::infrastructure, "the group's control: " + cuda::describe(driver_, call, result)};
  }

  // A kernel that waits for a lost peer spins for ever; only an abort ends it.
  Outcome wait(const std::function<bool()>& aborted) {
    const auto until = Clock::now() + std::chrono::milliseconds(kControlMs);
    for (int poll = 0;; ++poll) {
      const CUresult result = driver_.cuStreamQuery(stream_);
      if (result != CUDA_ERROR_NOT_READY) return outcome("cuStreamQuery", result);
      if (aborted()) {
        abort();
        return {StepCode::peer_gone, "a peer is gone"};
      }
      if (Clock::now() > until) {
        abort();
        return {StepCode::infrastructure,
                "NCCL's control collective did not finish in " + std::to_string(kControlMs / 1000) + " s"};
      }
      if (poll >= kEagerPolls) usleep(kNapMicroseconds);
    }
  }

  void abort() {
    if (!comm_ || context_.make_current() != CUDA_SUCCESS) return;
    nccl_.ncclCommAbort(comm_);
    comm_ = nullptr;
  }
  void close() {
    if (context_.make_current() == CUDA_ERROR_CONTEXT_IS_DESTROYED) return;
    if (stream_) driver_.cuStreamDestroy(stream_);
    if (word_) driver_.cuMemFree(word_);
  }

  const NcclApi nccl_;
  const cuda::DriverApi& driver_;
  cuda::PrimaryContext context_;
  CUstream stream_ = nullptr;
  CUdeviceptr word_ = 0;
  ncclComm* comm_ = nullptr;
};

}  // namespace

std::unique_ptr<Communicator> make_communicator(const NcclApi& nccl, const cuda::DriverApi& driver, int ordinal) {
  return std::make_unique<NcclCommunicator>(nccl, driver, ordinal);
}
std::unique_ptr<Communicator> make_communicator(const NcclApi& nccl, int ordinal) {
  return make_communicator(nccl, cuda::driver(), ordinal);
}

#else

std::unique_ptr<Communicator> make_communicator(const NcclApi&, int) {
  throw DeviceError("CUDA: this build of assay has no CUDA support, and so no NCCL groups");
}

#endif

}  // namespace assay
