// arenas.hpp: the arenas that a judge lends, grown on demand, and the sub-allocation of one trial in them. Those of
// hosted ranks are plans only: each worker makes its own memory of them.
//
// Promises: create once, sub-allocate per trial; an arena that had to be made anew has another generation, so that
// workers map it again. Ids are fixed: they travel in programs and fault reports. Every rank has an arena of its own of
// each id, all of one plan: what is taken lies at the same offsets on all ranks.
// Who calls it: bench.cc only.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "harness/device/memory.hpp"

namespace assay {

// Arena ids. Far tensors have an arena each, from kFar on.
enum ArenaId : std::uint32_t { kInputs, kOutputs, kFencedInputs, kFencedOutputs, kShelf, kFar, kArenas = 12 };

class Arenas {
 public:
  explicit Arenas(MemoryDomain& domain) : domain_(domain) {}

  void begin_trial(int ranks = 1, bool hosted = false);
  // Bytes of an ordinary arena, at a region-aligned offset at least `gap` past the last one.
  [[nodiscard]] std::uint64_t take(ArenaId, std::uint64_t bytes, std::uint64_t gap);
  // The next chunk of a fenced arena, of at least so many bytes; unmapped neighbours on both sides.
  [[nodiscard]] Chunk take_fenced(ArenaId, std::uint64_t bytes);
  // The next far arena: `rows` chunks at a pitch.
  [[nodiscard]] std::uint32_t take_far(std::uint64_t rows, std::uint64_t pitch_bytes, std::uint64_t chunk_bytes);
  // The shelf, host memory with room for so many bytes. What it held is lost.
  void shelve(std::uint64_t bytes);
  // Room that the trial will need, before its first take: an arena must not move while a trial holds offsets.
  void reserve(std::uint64_t input_bytes, std::uint64_t output_bytes);

  // Whether workers make this arena's memory themselves.
  [[nodiscard]] bool hosted(std::uint32_t id) const noexcept { return hosted_ && id != kShelf; }
  // NULL: there is none yet.
  [[nodiscard]] const Arena* get(std::uint32_t id, int rank = 0) const noexcept {
    return arenas_[id].empty() ? nullptr : arenas_[id][static_cast<std::size_t>(rank)].get();
  }
  [[nodiscard]] std::uint64_t generation(std::uint32_t id) const noexcept { return generations_[id]; }
  [[nodiscard]] std::byte* at(std::uint32_t id, std::uint64_t offset, int rank = 0) const noexcept {
    return arenas_[id][static_cast<std::size_t>(rank)]->base() + offset;
  }
  // Whether an arena of this id is read-only to candidates.
  [[nodiscard]] bool read_only(std::uint32_t id) const noexcept;
  void far_is_output(std::uint32_t id, bool output) noexcept;

 private:
  void make(std::uint32_t id, const ArenaPlan&);
  void at_least(std::uint32_t id, std::uint64_t bytes);

  MemoryDomain& domain_;
  std::unique_ptr<MemoryDomain> host_ = make_host_memory();  // the shelf's, whatever the device
  int ranks_ = 1;
  bool hosted_ = false;
  std::array<std::vector<std::unique_ptr<Arena>>, kArenas> arenas_;  // by rank
  std::array<std::uint64_t, kArenas> generations_{};
  std::array<std::uint64_t, kArenas> used_{};
  std::array<bool, kArenas> output_{};
  std::uint32_t next_far_ = kFar;
};

}  // namespace assay
