// bench_state.hpp: what a Bench holds, shared by the two halves of its implementation: bench.cc appends to the program,
// bench_run.cc runs it and settles what came back. Nobody else includes it.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "harness/drive/arenas.hpp"
#include "harness/drive/bench.hpp"
#include "harness/drive/reference_cache.hpp"
#include "harness/rank/rank_set.hpp"

namespace assay {

// Streams that no candidate is given: reads of its outputs, and the one that pushes.
inline constexpr std::uint32_t kMainStream = 0, kReadStream = 6;
inline constexpr std::uint64_t kShelfAlignment = 256, kShelfFlush = 64u << 20;
inline constexpr std::uint64_t kMostBindings = 4;  // sets of buffers that a drive makes of one case
inline constexpr std::uint64_t kMostHugeBindings = 2;

struct Bench::State {
  // What a collect or probe step will be made of once the program has run.
  struct Read {
    Image image;  // what was pushed; inputs and probed outputs are compared with it
    const Placed* placed = nullptr;
    std::size_t piece = 0;
    std::uint64_t offset = 0;  // on the shelf, from the start of what comes back
  };
  struct Deferred {
    int last_step = 0;  // valid where the program got past it
    std::vector<Read> reads;
    bool at_end = false;  // raw weights and large inputs, read once
    RankMask ranks = kAllRanks;  // that it is of
    // A collected call.
    bool call = false;
    Case c;
    std::string label;
    CollectNotes notes;
    std::map<const Placed*, std::uint64_t> poisons;  // of outputs
    const Binding* binding = nullptr;
    std::shared_ptr<const ReferenceResult> reference;
    bool informative = true;
    // A probe, or an expected result.
    Say say;
    Take take;
    int result = -1;
  };

  BenchConfig config;
  DeviceTurns turns{config.device_lock};
  MemoryDomain& domain;
  ReferenceCache references;
  std::unordered_map<std::string, Tensor> values;  // drawn for the present cases
  std::size_t values_bytes = 0;
  Arenas arenas;
  std::unique_ptr<ReceiptLedger> ledger;  // of the present workers' launch; outlives them
  std::unique_ptr<RankSet> workers;
  std::map<std::uint32_t, std::uint64_t> mapped;  // arena -> generation, in the present workers
  std::set<std::pair<std::uint32_t, std::uint32_t>> initialised;  // variants and groups, in the present workers
  std::map<std::vector<int>, std::uint32_t> groups;               // other than the world's, by members
  std::set<std::uint32_t> joined;                                 // of them, by the present workers
  std::set<std::uint32_t> also_ready;                             // variants that the trial calls beside its own
  std::vector<TrialPart> history;
  std::deque<Binding> bindings;
  std::uint64_t next_token = 0;
  bool shrinking = false;
  double slowest_ms = 0;
  double ran_ms = 0;  // all runs of this bench
  std::uint64_t started = 0;
  std::string device, output;
  std::string library_digest;               // SHA-256 of the candidate's file
  std::map<const SlotSpec*, std::string> contracts;  // digests
  bool grouped = false;  // the trial's slot is a collective
  int world = 1;
  bool unused = false;   // the workers are fresh: what history there is, is not theirs

  // The program in the making, in memory of the judge's own.
  std::unique_ptr<Program> program = std::make_unique<Program>();
  Script script{*program};
  std::vector<std::vector<ProgramResult>> results;  // of the last run, by rank
  Observation* seen = nullptr;
  bool push_pending = false;                   // the next step waits for what was pushed
  std::uint64_t up_bytes = 0, down_bytes = 0;  // on the shelf
  std::vector<std::pair<Image, std::uint64_t>> uploads;
  std::map<const std::vector<std::byte>*, std::uint64_t> shelved;  // images that go up, and where
  std::map<std::vector<const void*>, std::uint64_t> shelved_together;  // images that go up side by side
  struct Blank {
    std::uint64_t offset = 0, bytes = 0;
    std::byte value{};
  };
  std::vector<Blank> blanks;  // what lies between them
  std::vector<int> down_steps;  // whose shelf offsets count from the end of what goes up
  std::deque<Deferred> deferred;

  State(BenchConfig c, MemoryDomain& d, ReferenceModule& r)
      : config(std::move(c)), domain(d), references(r), arenas(d) {}

  [[nodiscard]] Observation& seen_by(int rank) const {
    return rank == 0 ? *seen : seen->others[static_cast<std::size_t>(rank) - 1];
  }
  DeviceTurns::Hold joining();
  std::optional<Fault> start();
  std::optional<Fault> ready(std::uint32_t variant);
  void bury();  // ends the workers; what they printed stays readable
  void control_afterwards();
  int deadline_ms(std::int64_t cells) const;
  void begin(const SlotSpec& slot, std::uint32_t variant);
  void upload(int rank);
  RankSet::Run run(int deadline_ms, const std::string& named);
  void open_ledger();
  std::string named_calls(const SlotSpec& slot, const VariantInfo& variant);
  std::optional<RankSet::Run> execute(const SlotSpec&, const VariantInfo&, std::optional<int> deadline_ms);
  [[nodiscard]] int done_by(int rank) const;
  void note_failed_step(int rank);
  void settle(int rank, int steps_done);
  void read_call(Deferred&, const std::vector<std::byte>& shelf, int rank);
  void push(Binding&, bool outputs, std::optional<Guard>, std::uint32_t stream);
  Tensor drawn(const SlotSpec&, const Binding&, const Placed&, std::uint64_t version, int rank);
  void read_back(Deferred&, Placed&, std::uint32_t stream);
  void read_last(Binding&);
  void read_back(Deferred&, Binding&, bool inputs, std::uint32_t stream);
  void push_piece(Binding&, Placed&, std::size_t piece, std::optional<Guard>, std::uint32_t stream);
};

}  // namespace assay
