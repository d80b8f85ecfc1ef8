// segment.hpp: the shared memory of one group of host ranks, and the one way in which its members wait for each other.
//
// Promises: a memory file without a name, so that it ends with the last process that holds it. Members meet in order:
// every meeting is joined by all members once. Where the abort word is raised, every wait, present or future, returns
// false within a millisecond. Mailboxes come in pairs: what a member writes before its meeting n is read by the others
// after it, and written again for meeting n + 2 only, which nobody reaches before all have read.
// Memory order: a meeting releases what was written before it to all who have returned from it.
// Does not: survive a member that dies between two meetings; the judge then ends the group.
// Who uses it: harness/rank (judge: creates, raises the abort word), harness/worker/host_group.cc (members).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "harness/case/case.hpp"
#include "harness/device/owned_fd.hpp"

namespace assay {

inline constexpr std::uint64_t kMailboxBytes = 256u << 10;
inline constexpr std::uint64_t kSymmetricBytes = 256u << 20;  // of each member, for all of symmetric(); sparse

// What a member says of the step that a meeting belongs to: members that disagree are told so, instead of garbage.
struct Announcement {
  std::uint32_t kind = 0, dtype = 0;  // of the step and of its cells
  std::uint64_t count = 0;            // cells or bytes
  friend bool operator==(const Announcement&, const Announcement&) = default;
};

class Segment {
 public:
  explicit Segment(int world);         // judge: creates it. Throws DeviceError
  Segment(int world, int descriptor);  // member: maps it; takes no ownership of the descriptor
  ~Segment();
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  [[nodiscard]] int world() const noexcept { return world_; }
  [[nodiscard]] int descriptor() const noexcept { return memory_.get(); }  // of the one who created it

  void abort() noexcept;
  [[nodiscard]] bool aborted() const noexcept;
  // Waits until all members are here. False: the group was aborted.
  [[nodiscard]] bool meet() noexcept;

  // Of meetings of one parity.
  [[nodiscard]] Announcement& announcement(std::uint64_t meeting, int rank) const noexcept;
  [[nodiscard]] std::byte* mailbox(std::uint64_t meeting, int rank) const noexcept;
  [[nodiscard]] std::byte* symmetric(int rank) const noexcept;  // kSymmetricBytes, zeroed at first

 private:
  struct Header;
  void map(int descriptor);
  [[nodiscard]] std::byte* at(std::uint64_t offset) const noexcept;

  int world_;
  OwnedFd memory_;
  Header* header_ = nullptr;
};

}  // namespace assay
