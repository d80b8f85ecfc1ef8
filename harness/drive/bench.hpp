// bench.hpp: the judge's workbench for one variant: lent memory, the worker that uses it, and the programs it runs.
//
// Promises: a Binding places a case's tensors in lent arenas with guards, padding, adverse alignment or unmapped
// neighbours; push() writes values, canaries and poison there; collect() reads private copies back and checks every
// byte that is no logical cell. A worker that ends becomes a Fault, and the next run starts a fresh one.
// Does not: decide anything. Drives (drives.hpp) compose it, rules judge what it saw.
// Who calls it: harness/drive/*.cc.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/device/memory.hpp"
#include "harness/drive/observation.hpp"
#include "harness/drive/reference_module.hpp"
#include "harness/tensor/layout.hpp"
#include "harness/worker/session.hpp"

namespace assay {

enum class Placement : std::uint8_t { ordinary, flush_end, flush_start };

// One run of a tensor's memory that is guarded as a whole; far tensors have one a row.
struct Piece {
  std::uint64_t arena_offset = 0;       // of the region
  Box box;
  std::int64_t first_cell = 0;          // row-major ordinal of the piece's first cell
  std::vector<std::byte> image;         // what was pushed
};

struct Placed {
  const ArgumentSpec* spec = nullptr;
  std::uint32_t arena = 0;
  std::uint64_t cell0 = 0;              // bytes from the arena's base
  DType dtype = DType::f32;
  Extents shape, strides;
  std::vector<Piece> pieces;
  Tensor values;                        // inputs: the pristine logical cells, contiguous
  Guard guard = Guard::canary;
  std::uint64_t poison = 0;             // outputs
};

struct Binding {
  Case c;
  std::vector<Placed> tensors;          // the tensor arguments in the slot's order
  std::vector<std::uint64_t> versions;  // of each tensor's values; inputs only

  [[nodiscard]] Placed& named(std::string_view argument);
};

// Appends steps to the worker's program; indices are positions in Program::results.
class Script {
 public:
  Script(Program& program, const Case& schedule, const SlotSpec& slot, std::uint32_t variant);

  int call(const Binding&, std::uint32_t stream);
  int simple(Op, std::uint32_t stream, std::uint32_t a = 0);
  int copy(std::uint32_t stream, const Placed& to, std::uint64_t from_arena_offset, std::uint32_t from_arena,
           std::size_t piece);
  int fill(std::uint32_t stream, const Placed& to, std::size_t piece, std::uint32_t pattern, std::uint32_t pattern_bytes);
  void keep_going();
  void threads();
  void blocks(std::uint64_t seed, bool early);
  [[nodiscard]] int steps() const noexcept;
  [[nodiscard]] bool full() const noexcept;

 private:
  Program& program_;
  const SlotSpec& slot_;
  std::uint32_t variant_;
};

struct BenchConfig {
  WorkerConfig worker;
  std::uint64_t far_pitch_elements = (1ULL << 31) + (1ULL << 20);
};

class Bench {
 public:
  Bench(BenchConfig, MemoryDomain&, ReferenceModule&);
  ~Bench();

  // Before anything else of a trial: whose it is.
  void use(const SlotSpec&, const VariantInfo&);
  [[nodiscard]] const SlotSpec& slot() const noexcept { return *slot_; }
  [[nodiscard]] const VariantInfo& variant() const noexcept { return variant_; }
  [[nodiscard]] DeviceType device() const noexcept;

  // Forgets the bindings of the last trial; the arenas stay.
  void begin_trial();
  // Places a case. References stay valid until begin_trial. `salt` varies the distances between tensors.
  Binding& bind(const Case&, Placement placement = Placement::ordinary, std::uint64_t salt = 0);
  // Fills an input's pristine values from the case's recipe; version 0 is the base, others differ from it bitwise
  // where the argument is dynamic and has a cell.
  void set_version(Binding&, std::size_t tensor, std::uint64_t version);
  void set_values(Binding&, std::size_t tensor, Tensor values);

  void push_inputs(Binding&, std::optional<Guard> guard = std::nullopt);   // values and guards into lent memory
  void push_outputs(Binding&, Poison, std::uint32_t ordinal);              // canaries and poison
  void push(Binding& b, Poison poison = Poison::first, std::uint32_t ordinal = 16) {
    push_inputs(b);
    push_outputs(b, poison, ordinal);
  }
  // A second place for an input's pushed bytes, for late producers: arena and offsets, one a piece.
  struct Shelf {
    std::uint32_t arena = 0;
    std::vector<std::uint64_t> offsets;
  };
  [[nodiscard]] Shelf shelve(const Placed&);

  [[nodiscard]] Script script(const Case& schedule);
  // Runs the program that script() built. False: a fault, or a step that was not ok; the observation says which.
  bool run(Observation&, std::string_view label, bool tolerate_failed_steps = false);
  [[nodiscard]] const ProgramResult& result(int step) const;

  // Reads outputs and inputs back into a CallSeen, with the reference for the binding's values.
  CallSeen collect(Binding&, std::string label, bool with_reference = true);
  [[nodiscard]] std::string changed_outputs(const Binding&);  // against what was pushed; empty: intact
  [[nodiscard]] std::vector<Tensor> read_outputs(const Binding&);
  [[nodiscard]] std::shared_ptr<const ReferenceResult> reference(const Binding&, bool* informative);

  // The worker: deadline, history, fresh ones.
  void set_shrinking(bool);
  void retire_worker();                                  // the next run starts a fresh one
  [[nodiscard]] std::vector<TrialPart>& history();       // parts run in this worker since it started
  [[nodiscard]] std::string worker_output() const;
  [[nodiscard]] const std::string& device_description() const noexcept;
  [[nodiscard]] std::uint64_t workers_started() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
  const SlotSpec* slot_ = nullptr;
  VariantInfo variant_;
};

}  // namespace assay
