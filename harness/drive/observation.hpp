// observation.hpp: all that a drive saw of one trial, as plain data. Rules are pure functions of it.
//
// Promises: tensors are private copies, contiguous, on the host; nothing here points into memory that a worker can
// write. The judge's references are computed from the inputs that it generated, never from what came back.
// Who uses it: conformance/rules/*.cc, through assay/rule.hpp.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "assay/reference.hpp"
#include "assay/slot.hpp"
#include "harness/device/device.hpp"
#include "harness/receipt/ledger.hpp"
#include "harness/route/agreement.hpp"
#include "harness/tensor/guard.hpp"
#include "harness/worker/blame.hpp"
#include "harness/worker/program.hpp"

namespace assay {

struct RoutingTable;  // harness/route/routing_table.hpp

struct VariantInfo {
  std::uint32_t index = 0;             // in the library's table
  std::string id;
  std::uint32_t flags = 0;             // ASSAY_GRAPH_SAFE | ...
  std::shared_ptr<const RoutingTable> routing = {};  // of the slot on this device; NULL: nobody routes
  [[nodiscard]] bool graph_safe() const noexcept { return flags & ASSAY_GRAPH_SAFE; }
  [[nodiscard]] bool deterministic() const noexcept { return flags & ASSAY_DETERMINISTIC; }
  [[nodiscard]] bool serial() const noexcept { return flags & ASSAY_SERIAL; }
};

struct OutputSeen {
  const ArgumentSpec* spec = nullptr;
  Tensor actual;                       // logical cells, the output's dtype
  CanaryReport canary;                 // guards, slack, row padding
  PoisonReport poison;                 // cells that still carry exactly their poison
  std::uint64_t poison_bits = 0;
};

struct InputSeen {
  const ArgumentSpec* spec = nullptr;
  std::uint64_t changed = 0;           // bytes of the whole region, padding and guards included
  std::string text;                    // where the first of them lies
};

struct CallSeen {
  std::string label;                   // "call", "second poison", "replay 2"
  Case c;                              // what the call was given
  StepCode code = StepCode::ok;        // of the call or launch step
  std::int32_t status = 0;
  std::uint32_t binding = 0;           // BindingChange bits
  std::uint64_t nanoseconds = 0;       // in the entry
  std::vector<OutputSeen> outputs;
  std::vector<InputSeen> inputs;
  std::shared_ptr<const ReferenceResult> reference;  // in the order of outputs
  std::vector<std::int64_t> rows;      // variation: row i of this call is row rows[i] of the first call
  std::string changed_scalar;          // variation: the scalar that differs from the first call
  const RelationSpec* relation = nullptr;  // variation: the known change of the first call's inputs
  std::string mutated;                 // replays: the inputs that differ from the capture, comma-separated
  mutable std::shared_ptr<const std::vector<Comparison>> compared;  // judging::mismatch's memo, one an output
  bool informative = true;             // an all-zero output would not nearly pass (number.* evidence)
};

// One prepare step, and what it left around it.
struct PrepareSeen {
  std::uint32_t surroundings = 0;      // Surrounding bits
  std::int64_t raw_bytes = 0, device_bytes = 0, host_bytes = 0;
};

// A rank was lost on purpose while its peers were in a call that it never made.
struct LossSeen {
  int rank = -1;                       // that was lost; -1: none was
  Loss how = Loss::fails;
  int found = -1;                      // whose end the judge found to be the cause
  std::string text;                    // what it said of that
  double milliseconds = 0;             // from the program's start to the last worker's end
  int deadline_ms = 0;
  std::vector<int> completed;          // ranks whose call was complete all the same
};

// One call that went through the router, as one thing on all ranks.
struct RoutedSeen {
  enum class Ask : std::uint8_t {
    inside,      // the trial's first case
    other,       // its second
    withheld,    // the first, with a fact that its domain names unknown to the binding
    excluded,    // the first, while the runtime tunes itself
    ineligible,  // the first, one rank not being eligible
    captured,    // the first, decided as for a capture; not called
  } ask = Ask::inside;
  std::string label;                   // of the CallSeen, where the call was made
  RouteDecision decision;                   // rank 0's
  Agreement agreement;
  std::string detail;                  // the fact that was withheld, the phase, the rank
  std::vector<std::string> live;       // by rank: the descriptor as observed; empty: none was built
  std::string offline;                 // the same as offline verification has it
  bool called = false;                 // candidate or stock did it
  std::vector<std::int64_t> entries;   // by rank: entries of the candidate while it was served
};

struct Observation {
  const SlotSpec* slot = nullptr;
  VariantInfo variant;
  Tier tier = Tier::quick;
  DeviceType device = DeviceType::host;
  Trial trial;
  std::optional<Fault> fault;          // the worker ended, or refused; calls hold what was seen before
  // The first step that was not ok, where the worker lives.
  std::optional<Op> failed_op;
  StepCode failed_code = StepCode::ok;
  std::string failed_text;
  std::string failed_label;            // which call or launch
  int refusing = 0;                    // ranks whose entry returned ASSAY_UNSUPPORTED to that call

  std::vector<CallSeen> calls;
  std::vector<PrepareSeen> prepares;   // in order
  std::uint32_t surroundings = 0;      // Surrounding bits: what the trial's calls left changed in their process
  std::vector<InputSeen> weights;      // raw weights at the trial's end
  std::vector<InputSeen> large_inputs; // at the trial's end; smaller ones are in their calls
  std::vector<CallSeen> bystanders;    // buffers of earlier calls, re-read later: must be as they were filled

  // capture_replay and its kin.
  GraphInventory graph;
  bool captured = false;
  std::string ran_at_capture;          // output changed while capturing: where; empty if intact
  // late_producer, held_stream.
  std::string late_write;              // output changed between its stream's end and the device's; empty if not
  std::string early_write;             // output changed while the stream was held; empty if not
  // many_replays.
  std::vector<DeviceUsage> usage;      // before the first interval and after each
  std::int64_t replays = 0;
  // endurance.
  std::vector<std::int64_t> held;      // bytes of the process on the host, before the first stretch and after each
  std::int64_t endured = 0;            // calls in all
  bool cut_short = false;              // for they were slow

  std::shared_ptr<const ReceiptBook> receipts;  // of the launch, as far as it had come after this trial
  std::vector<RoutedSeen> routed;      // routed: in order

  // Collectives: this is what rank 0 saw; what the others saw of the same trial. A fault or a failed step is told here,
  // whichever rank's it is.
  int rank = 0;
  std::vector<Observation> others = {};
  LossSeen loss = {};                  // told by rank 0
};

template <class Do>
void for_each_rank(Observation& seen, Do&& act) {
  act(seen);
  for (Observation& other : seen.others) act(other);
}

}  // namespace assay
