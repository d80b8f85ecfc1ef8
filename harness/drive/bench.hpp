// bench.hpp: the judge's workbench for one variant: lent memory, the workers that use it, the program in the making.
//
// Promises: a Binding places a case's tensors in lent arenas with guards, padding, adverse alignment or unmapped
// neighbours. push() brings values, canaries and poison there, collect() brings back private copies and checks every
// byte that is no logical cell. Both only append steps: values travel through a shelf, an arena that candidates are
// never shown, so that one program of many calls costs one upload, one run and one download. A worker that ends
// becomes a Fault, and the next run starts a fresh one.
// Collectives have a worker a rank: one program for all, at the same offsets of arenas of each rank's own, with values
// that differ by rank where the slot says so. What each rank did goes to an observation of its own (Observation::others).
// Does not: decide anything. Drives (drives.hpp) compose it, rules judge what it saw.
// Who calls it: harness/drive/*.cc.
//
//   Binding& b = bench.bind(c);
//   bench.push(b);
//   const int call = bench.script().call(b, 0);
//   bench.script().simple(Op::sync, 0);
//   bench.collect(b, "call", {.call = call});
//   bench.flush();                                  // the observation holds the call now
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/device/memory.hpp"
#include "harness/drive/device_turns.hpp"
#include "harness/drive/observation.hpp"
#include "harness/drive/reference_module.hpp"
#include "harness/drive/script.hpp"
#include "harness/rank/placing.hpp"
#include "harness/worker/session.hpp"

namespace assay {

struct BenchConfig {
  WorkerConfig worker;
  std::uint64_t far_pitch_elements = (1ULL << 31) + (1ULL << 20);
  bool hosted = false;                  // workers own the memory, as those of CUDA collectives always do
  std::function<Sharing(int ranks)> sharing = {};  // how so many ranks are to have their GPUs; empty: as they are placed
  std::optional<int> device_lock;       // a file that judges of one GPU take turns on, for the length of a run
  std::string library_sha256 = {};      // of the candidate's file; empty: as it is when the first launch begins
  // What receipts bind a slot's calls to; left out or empty: a digest of the slot's arguments (bench_receipts.cc).
  std::function<std::string(const SlotSpec&)> contract_digest = {};
  std::function<void(const std::string&)> on_receipt = {};  // given each line that was taken
};

// What a collected call is, beyond its bytes.
struct CollectNotes {
  int call = -1;                        // the step whose status it has
  bool reference = true;
  bool bystander = false;               // belongs to an earlier call: kept apart
  std::string mutated = {}, changed_scalar = {};
  std::vector<std::int64_t> rows = {};
  const RelationSpec* relation = nullptr;
  // Outputs only, read on this stream behind what it does already, and waited for by nobody: the drive ends the stream.
  std::optional<std::uint32_t> on_stream = {};
};

// A float64 tensor's cells in another dtype, each rounded once.
[[nodiscard]] Tensor in_dtype(const Tensor& f64, DType);

class Bench {
 public:
  Bench(BenchConfig, MemoryDomain&, ReferenceModule&);
  ~Bench();

  // Before anything else of a trial: whose it is.
  void use(const SlotSpec&, const VariantInfo&);
  [[nodiscard]] const SlotSpec& slot() const noexcept { return *slot_; }
  [[nodiscard]] const VariantInfo& variant() const noexcept { return variant_; }
  [[nodiscard]] DeviceType device() const noexcept;
  [[nodiscard]] std::string architecture() const;        // as descriptors name it: "cpu", "sm90"

  // Forgets the last trial's bindings and steps; what is collected from now on goes to `seen`.
  void begin_trial(Observation& seen);
  // Places a case. References stay valid until the next trial. `salt` varies the distances between tensors.
  Binding& bind(const Case&, Placement placement = Placement::ordinary, std::uint64_t salt = 0);
  // Of a collective, in a group of these ranks of the trial, in this order; as many as the case has.
  Binding& bind_in(const std::vector<int>& members, const Case&, std::uint64_t salt);
  // Fills an input's pristine values from the case's recipe; version 0 is the base, others differ from it bitwise
  // where the argument is dynamic and has a cell.
  void set_version(Binding&, std::size_t tensor, std::uint64_t version);
  void set_values(Binding&, std::size_t tensor, Tensor values, std::vector<Tensor> others = {});
  // Overwrites what the slot excludes (past lengths, unselected) with NaN or with large finite values; the reference
  // stays what it is. False: nothing is excluded here.
  bool spoil_excluded(Binding&, bool nan);

  // Appends copies of values and guards, or of canaries and poison, into lent memory, on stream 0 and to its end.
  void push_inputs(Binding&, std::optional<Guard> guard = std::nullopt);
  void push_outputs(Binding&, Poison, std::uint32_t ordinal);
  void push(Binding& b, Poison poison = Poison::first, std::uint32_t ordinal = 16) {
    push_inputs(b);
    push_outputs(b, poison, ordinal);
  }
  // Appends the serving of a call by stock, whose kernel is the reference, rounded once: its result is written on stream
  // 0, as a kernel of stock's would write it. One set of bytes for all ranks.
  void serve_by_stock(Binding&);
  // Another variant of the slot takes part in the trial: it is initialised before the next run.
  void also_ready(std::uint32_t variant);
  // The same for inputs, ordered on a stream and not waited for: a late producer.
  void push_inputs_on(Binding&, std::uint32_t stream);
  void push_outputs_on(Binding&, std::uint32_t stream, std::uint32_t ordinal);
  // Appends the overwriting of inputs, guards included, with one byte.
  void blank_inputs(Binding&, std::uint32_t stream, std::uint32_t byte);
  // Lets a binding of the same dims use what was prepared for another: one layer, two calls. Before its first push.
  void share_weights(Binding& to, Binding& from);
  // Appends a read of outputs and inputs; the call appears in the observation after the flush. The streams that wrote
  // them have been synchronised. False: the program was long enough to be run, and failed.
  bool collect(Binding&, std::string label, CollectNotes notes = {});
  // Appends the return of prepared weights, and the end of a trial: raw weights are read back, what is prepared returned.
  void release(Binding&);
  bool finish();
  // Each is called once a rank, with the rank's own observation.
  using Say = std::function<void(Observation&, const std::string&)>;
  using Take = std::function<void(Observation&, const ProgramResult&)>;
  // Appends a look at the outputs: `say` is given what changed against what was pushed, empty where nothing did.
  void probe(Binding&, Say say);
  // Appends a step whose result is wanted after the flush.
  void expect(int step, Take take);

  [[nodiscard]] Script& script();                        // steps after what was pushed
  void label(std::string);                               // of the steps that follow
  // Runs what was appended. False: a fault, or a step that was not ok; the observation says which.
  bool flush();

  // Runs what was appended, in which the script loses a rank: what became of all is in Observation::loss, and is no
  // fault. False: something else happened, or the machine failed.
  bool flush_and_lose(int rank, Loss how, int deadline_ms);

  // What the reference of these values is given.
  [[nodiscard]] ReferenceCall reference_call(const Binding&) const;
  [[nodiscard]] std::shared_ptr<const ReferenceResult> reference(const Binding&, bool* informative);

  // The worker: deadline, history, fresh ones.
  void set_shrinking(bool);
  [[nodiscard]] bool shrinking() const noexcept;
  // How the trial's ranks have their GPUs. By turns they wait for slices in every call: drives of many make fewer.
  [[nodiscard]] Sharing sharing() const;
  [[nodiscard]] Sharing sharing(int ranks) const;        // so many ranks, before they have a trial
  [[nodiscard]] Sharing placed() const;                  // whatever the configuration says of it
  [[nodiscard]] Sharing placed(int ranks) const;
  // For how long workers have run, in all of this bench's runs; waiting for a turn is no part of it.
  [[nodiscard]] double ran_seconds() const noexcept;
  void retire_worker();                                  // the next run starts a fresh one
  DeviceTurns::Hold alone();                             // on the GPU, among judges
  [[nodiscard]] std::vector<TrialPart>& history();       // parts run in this worker since it started
  [[nodiscard]] std::string worker_output() const;
  [[nodiscard]] const std::string& device_description() const noexcept;
  [[nodiscard]] std::uint64_t workers_started() const noexcept;

 private:
  struct State;
  void wait_for_pushes();
  void prepare(Binding&);
  void place(Binding&, const Case&, Placement, std::uint64_t salt);
  void push_pieces(Binding&, bool outputs, std::optional<Guard>, std::uint32_t stream);
  std::unique_ptr<State> state_;
  const SlotSpec* slot_ = nullptr;
  VariantInfo variant_;
};

}  // namespace assay
