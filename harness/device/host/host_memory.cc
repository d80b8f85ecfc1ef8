// Arenas of the host device: one sealed memfd an arena, mapped where and how each process needs it.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <string>
#include <utility>

#include "harness/device/memory.hpp"
#include "harness/device/owned_fd.hpp"

namespace assay {
namespace {

[[noreturn]] void fail(const std::string& what) { throw DeviceError(what + ": " + std::strerror(errno)); }

std::size_t page_bytes() {
  static const auto bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

// The bytes behind all chunks. Chunk i starts in the file where the chunks before it end.
std::uint64_t file_bytes(const ArenaPlan& plan) {
  const std::uint64_t page = page_bytes();
  std::uint64_t end = 0, total = 0;
  if (plan.span == 0 || plan.span % page != 0) throw DeviceError("an arena's span is a positive multiple of the page");
  for (const Chunk& chunk : plan.chunks) {
    if (chunk.bytes == 0 || chunk.bytes % page != 0 || chunk.offset % page != 0) {
      throw DeviceError("a chunk of an arena is not made of whole pages");
    }
    if (chunk.offset < end || chunk.offset > plan.span || chunk.bytes > plan.span - chunk.offset) {
      throw DeviceError("the chunks of an arena overlap, are out of order or leave its span");
    }
    end = chunk.offset + chunk.bytes;
    total += chunk.bytes;
  }
  return total;
}

// A span of unmapped addresses with the chunks in it, and an unmapped page on either side of it: a chunk at the edge
// of the span has a guard, too.
class Mapping {
 public:
  template <class DescriptorOf>
  Mapping(const ArenaPlan& plan, DescriptorOf&& descriptor_of, int protection)
      : reserved_bytes_(plan.span + 2 * page_bytes()) {
    reserved_ = ::mmap(nullptr, reserved_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (reserved_ == MAP_FAILED) fail("cannot reserve " + std::to_string(plan.span) + " bytes of addresses");
    std::uint64_t in_file = 0;
    for (std::size_t i = 0; i < plan.chunks.size(); ++i) {
      const Chunk& chunk = plan.chunks[i];
      if (::mmap(base() + chunk.offset, chunk.bytes, protection, MAP_SHARED | MAP_FIXED, descriptor_of(i),
                 static_cast<off_t>(in_file)) == MAP_FAILED) {
        const int error = errno;
        ::munmap(reserved_, reserved_bytes_);
        errno = error;
        fail("cannot map chunk " + std::to_string(i) + " of an arena");
      }
      in_file += chunk.bytes;
    }
  }
  ~Mapping() { ::munmap(reserved_, reserved_bytes_); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  [[nodiscard]] std::byte* base() const noexcept { return static_cast<std::byte*>(reserved_) + page_bytes(); }

 private:
  void* reserved_ = nullptr;
  std::size_t reserved_bytes_;
};

int sealed_memory(std::uint64_t bytes) {
  const int fd = ::memfd_create("arena", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) fail("memfd_create");
  // F_SEAL_SEAL, too: whoever receives the descriptor can neither resize the memory nor forbid writing to it.
  if (::ftruncate(fd, static_cast<off_t>(bytes)) != 0 ||
      ::fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) != 0) {
    const int error = errno;
    ::close(fd);
    errno = error;
    fail("cannot size and seal an arena of " + std::to_string(bytes) + " bytes");
  }
  return fd;
}

class HostArena final : public Arena {
 public:
  explicit HostArena(const ArenaPlan& plan)
      : plan_(plan),
        memory_(sealed_memory(file_bytes(plan))),
        mapping_(
            plan_, [this](std::size_t) { return memory_.get(); }, PROT_READ | PROT_WRITE) {}

  [[nodiscard]] std::byte* base() const noexcept override { return mapping_.base(); }
  [[nodiscard]] const ArenaPlan& plan() const noexcept override { return plan_; }
  [[nodiscard]] std::vector<int> descriptors() const override {
    return std::vector<int>(plan_.chunks.size(), memory_.get());
  }

 private:
  ArenaPlan plan_;
  OwnedFd memory_;
  Mapping mapping_;
};

class LentMapping final : public ArenaMapping {
 public:
  LentMapping(const ArenaPlan& plan, const std::vector<int>& descriptors, int protection)
      : mapping_(
            plan, [&](std::size_t chunk) { return descriptors[chunk]; }, protection) {}
  [[nodiscard]] std::byte* base() const noexcept override { return mapping_.base(); }

 private:
  Mapping mapping_;
};

class HostMemory final : public MemoryDomain {
 public:
  [[nodiscard]] DeviceType type() const noexcept override { return DeviceType::host; }
  [[nodiscard]] int ordinal() const noexcept override { return 0; }
  [[nodiscard]] std::string architecture() const override { return "cpu"; }
  [[nodiscard]] std::size_t granularity() const noexcept override { return page_bytes(); }

  [[nodiscard]] std::unique_ptr<Arena> create(const ArenaPlan& plan) override {
    return std::make_unique<HostArena>(plan);
  }

  [[nodiscard]] std::unique_ptr<ArenaMapping> map(const ArenaPlan& plan, const std::vector<int>& descriptors,
                                                  Access access) override {
    const std::uint64_t total = file_bytes(plan);
    if (descriptors.size() != plan.chunks.size()) throw DeviceError("an arena needs one descriptor a chunk");
    for (const int fd : descriptors) {
      struct stat status {};
      if (::fstat(fd, &status) != 0) fail("an arena's descriptor");
      // A page past the file's end would map, and kill whoever touches it later.
      if (static_cast<std::uint64_t>(status.st_size) != total) {
        throw DeviceError("an arena's descriptor holds " + std::to_string(status.st_size) + " bytes, its plan " +
                          std::to_string(total));
      }
    }
    if (access == Access::read_write)
      return std::make_unique<LentMapping>(plan, descriptors, PROT_READ | PROT_WRITE);
    // Through a descriptor that was opened read-only: mprotect cannot make such a mapping writable.
    std::map<int, OwnedFd> reopened;
    std::vector<int> read_only;
    for (const int fd : descriptors) {
      auto [at, fresh] = reopened.try_emplace(fd);
      if (fresh) at->second = OwnedFd(::open(("/proc/self/fd/" + std::to_string(fd)).c_str(), O_RDONLY | O_CLOEXEC));
      if (at->second.get() < 0) fail("cannot reopen an arena read-only");
      read_only.push_back(at->second.get());
    }
    return std::make_unique<LentMapping>(plan, read_only, PROT_READ);
  }

  [[nodiscard]] HostedArena host(const ArenaPlan& plan, Access access) override {
    auto own = std::make_unique<HostArena>(plan);
    auto view = map(plan, own->descriptors(), access);
    return {std::move(view), std::move(own)};
  }

  void upload(void* device, const void* host, std::size_t bytes) override { std::memcpy(device, host, bytes); }
  void download(void* host, const void* device, std::size_t bytes) override { std::memcpy(host, device, bytes); }
};

}  // namespace

std::unique_ptr<MemoryDomain> make_host_memory() { return std::make_unique<HostMemory>(); }

}  // namespace assay
