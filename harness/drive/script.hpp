// script.hpp: where a case's tensors lie in lent memory, and the program of steps that names them.
//
// Promises: plain data and an appender; a Script never runs anything. Indices that it returns are positions in
// Program::results.
// Who uses it: bench.hpp, drives.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "assay/slot.hpp"
#include "harness/tensor/guard.hpp"
#include "harness/tensor/layout.hpp"
#include "harness/worker/program.hpp"

namespace assay {

enum class Placement : std::uint8_t { ordinary, flush_end, flush_start };

using ImageBytes = std::shared_ptr<const std::vector<std::byte>>;

// The bytes of a piece, the same for all ranks or other ones for each.
struct Image {
  ImageBytes first;
  std::vector<ImageBytes> others;  // of ranks 1, 2, ... where they differ
  [[nodiscard]] const std::vector<std::byte>& of(int rank) const noexcept {
    return rank == 0 || others.empty() ? *first : *others[static_cast<std::size_t>(rank) - 1];
  }
};

// One run of a tensor's memory that is guarded as a whole; far tensors have one a row.
struct Piece {
  std::uint64_t arena_offset = 0;  // of the region
  Box box;
  std::int64_t first_cell = 0;     // row-major ordinal of the piece's first cell
  Image image = {};                // what was pushed last
  std::uint64_t image_key = 0;     // what it was painted from: an equal key, an equal image
  Image there = {};                // large inputs: what lies in lent memory
};

struct Placed {
  const ArgumentSpec* spec = nullptr;
  std::uint32_t arena = 0;
  std::uint64_t cell0 = 0;         // bytes from the arena's base
  DType dtype = DType::f32;
  Extents shape, strides;
  std::vector<Piece> pieces;
  Tensor values;                   // inputs: the pristine logical cells, contiguous; outputs: those of stock
  std::vector<Tensor> others = {};  // of an input that differs by rank: those of places 1, 2, ... of the group
  Guard guard = Guard::canary;
  std::uint64_t poison = 0;        // outputs
  bool by_stock = false;           // outputs: what is pushed is stock's result, not poison
  bool weight = false;             // an input of prepare: pushed once, read back once

  [[nodiscard]] const Tensor& of(int place) const noexcept {
    return place == 0 || others.empty() ? values : others[static_cast<std::size_t>(place) - 1];
  }
};

// Ranks of a trial: bit r is rank r.
using RankMask = std::uint32_t;
inline constexpr RankMask kAllRanks = ~RankMask{0};

struct Binding {
  Case c;
  std::string values_key;               // what its values follow from: the case without layout and schedule
  [[nodiscard]] int world() const noexcept { return static_cast<int>(c.world); }

  // Of a collective: the group that it is called in, and the ranks of the trial that are its members, by their place in
  // it. None: all, in their order.
  std::uint32_t group = 0;
  std::vector<int> members;
  [[nodiscard]] RankMask ranks() const noexcept;
  [[nodiscard]] int place_of(int rank) const noexcept;  // 0 for those who are no members

  std::vector<Placed> tensors;          // the tensor arguments in the slot's order, then its weights
  std::vector<std::uint64_t> versions;  // of each tensor's values; inputs only
  std::uint64_t token = 0;              // of its prepared weights
  bool prepared = false, released = false;
  bool borrowed = false;                // prepared for another binding

  [[nodiscard]] Placed& named(std::string_view argument);
};

class Script {
 public:
  explicit Script(Program& program) : program_(program) {}

  void begin(const SlotSpec&, std::uint32_t variant);    // forgets all steps
  void label(std::string text) { label_ = std::move(text); }

  int call(const Binding&, std::uint32_t stream);                         // of the trial's variant
  int call(const Binding&, std::uint32_t stream, std::uint32_t variant);  // of another one of the slot
  void repeat(int step, std::uint32_t more);                              // of a call or launch: so many times more
  int facts();                                                            // of the group that a call is given
  int prepare(const Binding&, std::uint32_t stream, bool measured);
  int release(const Binding&, std::uint32_t stream);
  int simple(Op, std::uint32_t stream, std::uint32_t a = 0);
  int copy(std::uint32_t stream, ProgramRegion to, ProgramRegion from);
  int blank(std::uint32_t stream, const Placed&, std::size_t piece, std::uint32_t byte);
  int schedule(const Schedule&);
  // What follows on the stream comes later, on every rank by another time of at most so many microseconds.
  int delay(std::uint32_t stream, std::uint32_t most, std::uint64_t key);
  int lose(int rank, Loss, std::uint32_t after_ms);
  void only(int step, RankMask);                          // the other ranks skip it
  // The step as one rank gets it.
  [[nodiscard]] ProgramStep step_of(int step, int rank) const;
  [[nodiscard]] RankMask ranks_of(int step) const { return ranks_[static_cast<std::size_t>(step)]; }

  [[nodiscard]] int steps() const noexcept { return static_cast<int>(program_.step_count); }
  [[nodiscard]] const std::string& label_of(int step) const { return labels_[static_cast<std::size_t>(step)]; }

  // The calls so far: the step, and the binding, which stays valid as long as the bench's.
  [[nodiscard]] const std::vector<std::pair<int, const Binding*>>& calls() const noexcept { return calls_; }

  [[nodiscard]] std::uint32_t tensors() const noexcept { return program_.tensor_count; }
  [[nodiscard]] const Program& program() const noexcept { return program_; }

 private:
  std::uint32_t describe(const Placed&);

  Program& program_;
  const SlotSpec* slot_ = nullptr;
  std::uint32_t variant_ = 0;
  std::string label_;
  std::vector<std::string> labels_;  // one a step
  std::vector<std::pair<int, const Binding*>> calls_;
  std::vector<RankMask> ranks_;      // one a step
};

[[nodiscard]] Schedule schedule_of(const Case&) noexcept;
[[nodiscard]] ProgramRegion region_of(const Placed&, std::size_t piece) noexcept;

}  // namespace assay
