// claims.hpp: what one of a run's judges does and no other: a part of a unit; making a failure smaller that several found.
//
// Promises: of several that ask for one name, one has it, until it gives it back; whoever has none of this (one judge
// alone) may always. A full table refuses nobody: work done twice is seen when results are merged. Lives in a file that
// all judges of a run have open; needs no lock.
// Who calls it: check.cc makes the file; shard.cc and examiner.cc ask.
//
//   if (!claims.take(name)) return;  // another judge is at it, or done
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace assay {

class Claims {
 public:
  Claims() = default;
  // An open file that was prepared; none where it is negative. Throws std::runtime_error.
  explicit Claims(int file);
  Claims(const Claims&) = delete;
  Claims& operator=(const Claims&) = delete;
  ~Claims();

  static void prepare(int file);  // makes an empty file large enough; throws std::runtime_error

  [[nodiscard]] bool take(const std::string& name);
  void give_back(const std::string& name);

 private:
  std::atomic<std::uint64_t>* slot_of(const std::string& name);

  std::atomic<std::uint64_t>* slots_ = nullptr;
};

}  // namespace assay
