#include "conformance/claims.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <stdexcept>

#include "harness/tensor/philox.hpp"

namespace assay {
namespace {

// A slot is a name's hash, whose last bit says whether it is taken.
constexpr std::uint64_t kSlots = 1 << 17, kTaken = 1;
constexpr std::size_t kBytes = kSlots * sizeof(std::uint64_t);

static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "it is shared by processes");

}  // namespace

void Claims::prepare(int file) {
  if (ftruncate(file, kBytes) != 0) throw std::runtime_error("cannot make room for the claims of judges");
}

Claims::Claims(int file) {
  if (file < 0) return;
  void* memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) throw std::runtime_error("cannot map the claims of judges");
  slots_ = static_cast<std::atomic<std::uint64_t>*>(memory);  // zeros: atomics of nothing
}

Claims::~Claims() {
  if (slots_) munmap(slots_, kBytes);
}

// The name's own slot, made where there is none; nullptr: the table is full.
std::atomic<std::uint64_t>* Claims::slot_of(const std::string& name) {
  const std::uint64_t hash = (derive_key(0, name) | 2) & ~kTaken;  // never nothing
  for (std::uint64_t i = 0; i < kSlots; ++i) {
    std::atomic<std::uint64_t>& slot = slots_[(hash / 4 + i) % kSlots];
    std::uint64_t there = slot.load();
    if (there == 0 && slot.compare_exchange_strong(there, hash)) there = hash;
    if ((there & ~kTaken) == hash) return &slot;
  }
  return nullptr;
}

bool Claims::take(const std::string& name) {
  if (!slots_) return true;
  std::atomic<std::uint64_t>* slot = slot_of(name);
  return !slot || (slot->fetch_or(kTaken) & kTaken) == 0;
}

void Claims::give_back(const std::string& name) {
  if (std::atomic<std::uint64_t>* slot = slots_ ? slot_of(name) : nullptr) slot->fetch_and(~kTaken);
}

}  // namespace assay
