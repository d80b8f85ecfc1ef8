// CUDA arenas: one physical handle a chunk, shared as a POSIX file descriptor, mapped into a reservation of the span.
// Never legacy IPC: small cudaMallocs share a 2 MiB block, and a worker could write what the judge did not lend.
#ifdef ASSAY_HAVE_CUDA

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>

#include "harness/device/cuda/cuda_device.hpp"
#include "harness/device/cuda/driver.hpp"

namespace assay {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{4} << 20;
constexpr std::size_t kSmallestStagingBytes = std::size_t{64} << 10;

using Context = std::shared_ptr<const cuda::PrimaryContext>;

CUdeviceptr address(const void* memory) { return reinterpret_cast<CUdeviceptr>(memory); }

CUmemAllocationProp allocation_on(CUdevice device) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  properties.location = {};
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = device;
  return properties;
}

void check_plan(const ArenaPlan& plan, std::size_t granularity) {
  const auto is_multiple = [&](std::uint64_t bytes) { return bytes % granularity == 0; };
  bool legal = plan.span > 0 && is_multiple(plan.span);
  std::uint64_t end = 0;
  for (const Chunk& chunk : plan.chunks) {
    legal = legal && is_multiple(chunk.offset) && is_multiple(chunk.bytes) && chunk.bytes > 0 && chunk.offset >= end &&
            chunk.offset <= plan.span && chunk.bytes <= plan.span - chunk.offset;
    end = chunk.offset + chunk.bytes;
  }
  if (!legal) {
    throw DeviceError("CUDA: an arena's chunks must be ascending, disjoint, inside the span and multiples of " +
                      std::to_string(granularity) + " bytes");
  }
}

// One physical allocation. Mappings and exported descriptors keep the memory after the handle is gone.
class Handle {
 public:
  Handle(const cuda::DriverApi& api, CUmemGenericAllocationHandle handle) : api_(api), handle_(handle) {}
  ~Handle() { api_.cuMemRelease(handle_); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  [[nodiscard]] CUmemGenericAllocationHandle get() const noexcept { return handle_; }

 private:
  const cuda::DriverApi& api_;
  CUmemGenericAllocationHandle handle_;
};

// A reserved span of addresses with some chunks mapped.
class Span {
 public:
  Span(Context context, std::uint64_t bytes) : context_(std::move(context)), bytes_(bytes) {
    cuda::require(api(), "cuMemAddressReserve", api().cuMemAddressReserve(&base_, bytes_, 0, 0, 0));
  }
  ~Span() {
    (void)context_->make_current();
    for (const Chunk& chunk : mapped_) api().cuMemUnmap(base_ + chunk.offset, chunk.bytes);
    api().cuMemAddressFree(base_, bytes_);
  }
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;

  void map(const Handle& handle, const Chunk& chunk, Access access) {
    cuda::require(api(), "cuMemMap", api().cuMemMap(base_ + chunk.offset, chunk.bytes, 0, handle.get(), 0));
    mapped_.push_back(chunk);
    CUmemAccessDesc grant{};
    grant.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    grant.location.id = context_->device();
    grant.flags = access == Access::read_only ? CU_MEM_ACCESS_FLAGS_PROT_READ : CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    cuda::require(api(), "cuMemSetAccess", api().cuMemSetAccess(base_ + chunk.offset, chunk.bytes, &grant, 1));
  }
  [[nodiscard]] CUdeviceptr base() const noexcept { return base_; }

 private:
  [[nodiscard]] const cuda::DriverApi& api() const noexcept { return context_->api(); }

  Context context_;
  std::uint64_t bytes_;
  CUdeviceptr base_ = 0;
  std::vector<Chunk> mapped_;
};

class CudaView final : public ArenaMapping {
 public:
  CudaView(Context context, std::uint64_t bytes) : span_(std::move(context), bytes) {}
  std::byte* base() const noexcept override { return reinterpret_cast<std::byte*>(span_.base()); }
  Span& span() noexcept { return span_; }

 private:
  Span span_;
};

class CudaArena final : public Arena {
 public:
  CudaArena(Context context, ArenaPlan plan) : span_(std::move(context), plan.span), plan_(std::move(plan)) {}
  ~CudaArena() override {
    for (const int descriptor : descriptors_) close(descriptor);
  }
  std::byte* base() const noexcept override { return reinterpret_cast<std::byte*>(span_.base()); }
  const ArenaPlan& plan() const noexcept override { return plan_; }
  std::vector<int> descriptors() const override { return descriptors_; }
  Span& span() noexcept { return span_; }
  void own(int descriptor) { descriptors_.push_back(descriptor); }

 private:
  Span span_;
  ArenaPlan plan_;
  std::vector<int> descriptors_;
};

// Copies go through pinned memory in pieces, so that the host's copy of one piece overlaps the device's of another.
class CudaMemory final : public MemoryDomain {
 public:
  CudaMemory(const cuda::DriverApi& api, int ordinal)
      : context_(std::make_shared<const cuda::PrimaryContext>(api, ordinal)), api_(api) {
    const CUmemAllocationProp properties = allocation_on(context_->device());
    require("cuMemGetAllocationGranularity",
            api_.cuMemGetAllocationGranularity(&granularity_, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    try {
      require("cuStreamCreate", api_.cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING));
      for (CUevent& event : done_) require("cuEventCreate", api_.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    } catch (...) {
      close_handles();
      throw;
    }
  }
  ~CudaMemory() override { close_handles(); }

  DeviceType type() const noexcept override { return DeviceType::cuda; }
  int ordinal() const noexcept override { return context_->ordinal(); }
  std::string architecture() const override { return context_->architecture(); }
  std::size_t granularity() const noexcept override { return granularity_; }

  std::unique_ptr<Arena> create(const ArenaPlan& plan) override {
    enter();
    check_plan(plan, granularity_);
    auto arena = std::make_unique<CudaArena>(context_, plan);
    for (const Chunk& chunk : plan.chunks) {
      const Handle handle = allocate(chunk.bytes);
      int descriptor = -1;
      require("cuMemExportToShareableHandle",
              api_.cuMemExportToShareableHandle(&descriptor, handle.get(), CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
      arena->own(descriptor);
      arena->span().map(handle, chunk, Access::read_write);
      clear(arena->span(), chunk);
    }
    require("cuStreamSynchronize", api_.cuStreamSynchronize(stream_));
    return arena;
  }

  // Both views are of the handle that made the memory: one that was imported could not be exported by who registers it.
  HostedArena host(const ArenaPlan& plan, Access access) override {
    enter();
    check_plan(plan, granularity_);
    auto candidate = std::make_unique<CudaView>(context_, plan.span);
    auto trusted = std::make_unique<CudaView>(context_, plan.span);
    for (const Chunk& chunk : plan.chunks) {
      const Handle handle = allocate(chunk.bytes);
      trusted->span().map(handle, chunk, Access::read_write);
      candidate->span().map(handle, chunk, access);
      clear(trusted->span(), chunk);
    }
    require("cuStreamSynchronize", api_.cuStreamSynchronize(stream_));
    return {std::move(candidate), std::move(trusted)};
  }

  std::unique_ptr<ArenaMapping> map(const ArenaPlan& plan, const std::vector<int>& descriptors,
                                    Access access) override {
    enter();
    check_plan(plan, granularity_);
    if (descriptors.size() != plan.chunks.size()) {
      throw DeviceError("CUDA: an arena of " + std::to_string(plan.chunks.size()) + " chunks came with " +
                        std::to_string(descriptors.size()) + " descriptors");
    }
    auto view = std::make_unique<CudaView>(context_, plan.span);
    for (std::size_t i = 0; i < descriptors.size(); ++i) {
      CUmemGenericAllocationHandle raw{};
      void* const descriptor = reinterpret_cast<void*>(static_cast<std::intptr_t>(descriptors[i]));
      require("cuMemImportFromShareableHandle",
              api_.cuMemImportFromShareableHandle(&raw, descriptor, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
      const Handle handle(api_, raw);
      view->span().map(handle, plan.chunks[i], access);
    }
    return view;
  }

  void upload(void* device, const void* host, std::size_t bytes) override {
    enter();
    stage_for(bytes);
    const auto* from = static_cast<const std::byte*>(host);
    for (std::size_t offset = 0, piece = 0; offset < bytes; offset += kPieceBytes, ++piece) {
      const std::size_t count = std::min(kPieceBytes, bytes - offset);
      if (piece >= 2) require("cuEventSynchronize", api_.cuEventSynchronize(done_[piece % 2]));
      std::memcpy(half(piece), from + offset, count);
      require("cuMemcpyHtoDAsync", api_.cuMemcpyHtoDAsync(address(device) + offset, half(piece), count, stream_));
      require("cuEventRecord", api_.cuEventRecord(done_[piece % 2], stream_));
    }
    require("cuStreamSynchronize", api_.cuStreamSynchronize(stream_));
  }

  void download(void* host, const void* device, std::size_t bytes) override {
    enter();
    stage_for(bytes);
    auto* to = static_cast<std::byte*>(host);
    const std::size_t pieces = (bytes + kPieceBytes - 1) / kPieceBytes;
    const auto size_of_piece = [&](std::size_t piece) { return std::min(kPieceBytes, bytes - piece * kPieceBytes); };
    for (std::size_t piece = 0; piece <= pieces; ++piece) {
      if (piece < pieces) {
        require("cuMemcpyDtoHAsync", api_.cuMemcpyDtoHAsync(half(piece), address(device) + piece * kPieceBytes,
                                                            size_of_piece(piece), stream_));
        require("cuEventRecord", api_.cuEventRecord(done_[piece % 2], stream_));
      }
      if (piece > 0) {
        require("cuEventSynchronize", api_.cuEventSynchronize(done_[(piece - 1) % 2]));
        std::memcpy(to + (piece - 1) * kPieceBytes, half(piece - 1), size_of_piece(piece - 1));
      }
    }
  }

 private:
  void require(const char* call, CUresult result) const { cuda::require(api_, call, result); }
  void enter() const { require("cuCtxSetCurrent", context_->make_current()); }

  [[nodiscard]] Handle allocate(std::uint64_t bytes) const {
    const CUmemAllocationProp properties = allocation_on(context_->device());
    CUmemGenericAllocationHandle raw{};
    require("cuMemCreate", api_.cuMemCreate(&raw, bytes, &properties, 0));
    return Handle(api_, raw);
  }
  void clear(const Span& span, const Chunk& chunk) const {
    require("cuMemsetD8Async", api_.cuMemsetD8Async(span.base() + chunk.offset, 0, chunk.bytes, stream_));
  }

  // A copy of one piece uses the first half only, whatever its size.
  std::byte* half(std::size_t piece) const noexcept { return staging_ + (piece % 2) * kPieceBytes; }

  void stage_for(std::size_t bytes) {
    const std::size_t wanted = bytes <= kPieceBytes ? bytes : 2 * kPieceBytes;
    if (wanted <= staging_bytes_) return;
    std::size_t size = std::max(staging_bytes_, kSmallestStagingBytes);
    while (size < wanted) size *= 2;
    if (staging_ != nullptr) api_.cuMemFreeHost(std::exchange(staging_, nullptr));
    staging_bytes_ = 0;
    void* memory = nullptr;
    require("cuMemHostAlloc", api_.cuMemHostAlloc(&memory, size, 0));
    staging_ = static_cast<std::byte*>(memory);
    staging_bytes_ = size;
  }

  void close_handles() {
    if (context_->make_current() == CUDA_ERROR_CONTEXT_IS_DESTROYED) return;
    for (const CUevent event : done_) {
      if (event != nullptr) api_.cuEventDestroy(event);
    }
    if (stream_ != nullptr) api_.cuStreamDestroy(stream_);
    if (staging_ != nullptr) api_.cuMemFreeHost(staging_);
  }

  Context context_;  // shared with the arenas, which may outlive the domain
  const cuda::DriverApi& api_;
  std::size_t granularity_ = 0;
  CUstream stream_ = nullptr;
  std::array<CUevent, 2> done_{};
  std::byte* staging_ = nullptr;
  std::size_t staging_bytes_ = 0;
};

}  // namespace

std::unique_ptr<MemoryDomain> make_cuda_memory(const cuda::DriverApi& api, int ordinal) {
  return std::make_unique<CudaMemory>(api, ordinal);
}
std::unique_ptr<MemoryDomain> make_cuda_memory(int ordinal) { return make_cuda_memory(cuda::driver(), ordinal); }

}  // namespace assay

#endif
