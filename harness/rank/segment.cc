#include "harness/rank/segment.hpp"

#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>
#include <ctime>
#include <string>

#include "harness/device/memory.hpp"

namespace assay {
namespace {

constexpr std::uint64_t kHeaderBytes = 4096;
constexpr long kNapNanoseconds = 500'000;  // the longest that a raised abort word goes unseen
constexpr int kYields = 16;                // ranks outnumber cores: give way before sleeping

[[noreturn]] void fail(const char* what) { throw DeviceError(std::string(what) + ": " + std::strerror(errno)); }

}  // namespace

struct Segment::Header {
  std::atomic<std::uint32_t> aborted{0};
  std::atomic<std::uint32_t> arrived{0};               // at the present meeting
  alignas(64) std::atomic<std::uint32_t> meetings{0};  // completed; what members sleep on
  alignas(64) Announcement announcements[2][kMostRanks];
};

namespace {

std::uint64_t bytes_for(int world) {
  return kHeaderBytes + static_cast<std::uint64_t>(world) * (2 * kMailboxBytes + kSymmetricBytes);
}

long futex(std::atomic<std::uint32_t>& word, int op, std::uint32_t value, const timespec* timeout) {
  static_assert(sizeof word == sizeof(std::uint32_t) && std::atomic<std::uint32_t>::is_always_lock_free);
  return ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), op, value, timeout, nullptr, 0);
}

}  // namespace

Segment::Segment(int world) : world_(world) {
  memory_ = OwnedFd(::memfd_create("group", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (memory_.get() < 0) fail("memfd_create");
  if (::ftruncate(memory_.get(), static_cast<off_t>(bytes_for(world))) != 0 ||
      ::fcntl(memory_.get(), F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) != 0)
    fail("cannot size and seal a group's memory");
  map(memory_.get());
  new (header_) Header();
}

Segment::Segment(int world, int descriptor) : world_(world) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) fail("a group's memory");
  if (static_cast<std::uint64_t>(status.st_size) != bytes_for(world))
    throw DeviceError("a group's memory is not of its size");
  map(descriptor);
}

Segment::~Segment() {
  if (header_) ::munmap(header_, bytes_for(world_));
}

void Segment::map(int descriptor) {
  static_assert(sizeof(Header) <= kHeaderBytes);
  void* memory = ::mmap(nullptr, bytes_for(world_), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor, 0);
  if (memory == MAP_FAILED) fail("cannot map a group's memory");
  header_ = static_cast<Header*>(memory);
}

void Segment::abort() noexcept {
  header_->aborted.store(1, std::memory_order_release);
  futex(header_->meetings, FUTEX_WAKE, INT_MAX, nullptr);
}

bool Segment::aborted() const noexcept { return header_->aborted.load(std::memory_order_acquire) != 0; }

bool Segment::meet() noexcept {
  if (aborted()) return false;
  // Read before arriving: the meeting cannot end without this member.
  const std::uint32_t now = header_->meetings.load(std::memory_order_acquire);
  if (header_->arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == static_cast<std::uint32_t>(world_)) {
    header_->arrived.store(0, std::memory_order_relaxed);
    header_->meetings.store(now + 1, std::memory_order_release);
    if (world_ > 1) futex(header_->meetings, FUTEX_WAKE, INT_MAX, nullptr);
    return true;
  }
  for (int turn = 0; header_->meetings.load(std::memory_order_acquire) == now; ++turn) {
    if (aborted()) return false;
    if (turn < kYields) {
      ::sched_yield();
      continue;
    }
    const timespec nap{0, kNapNanoseconds};
    futex(header_->meetings, FUTEX_WAIT, now, &nap);
  }
  return true;
}

std::byte* Segment::at(std::uint64_t offset) const noexcept {
  return reinterpret_cast<std::byte*>(header_) + kHeaderBytes + offset;
}

Announcement& Segment::announcement(std::uint64_t meeting, int rank) const noexcept {
  return header_->announcements[meeting & 1][rank];
}

std::byte* Segment::mailbox(std::uint64_t meeting, int rank) const noexcept {
  return at((2 * static_cast<std::uint64_t>(rank) + (meeting & 1)) * kMailboxBytes);
}

std::byte* Segment::symmetric(int rank) const noexcept {
  return at(static_cast<std::uint64_t>(world_) * 2 * kMailboxBytes +
            static_cast<std::uint64_t>(rank) * kSymmetricBytes);
}

}  // namespace assay
