// drives.hpp: the programs that trials run; the closed list of rules.md.
//
// Promises: observe() runs the trial's history (unjudged) and then its part, and returns all that was seen; a worker
// that ends becomes a fault in the observation, never an exception. DeviceError and ReferenceUnavailable pass through:
// they are no candidate's.
// Who calls it: harness/shrink (candidates for smaller trials), conformance (first runs).
#pragma once

#include "harness/drive/bench.hpp"
#include "harness/drive/observation.hpp"

namespace assay {

[[nodiscard]] Observation observe(Bench&, const Trial&, Tier);

inline constexpr std::int64_t kHugeCells = 1 << 21;      // of an output
inline constexpr std::uint64_t kHugeBytes = 48u << 20;  // of all inputs
inline constexpr std::uint64_t kGuardBytes = 32u << 20;  // fenced chunks are all as large as the largest
[[nodiscard]] bool is_huge(const SlotSpec&, const Case&);

// Whether the drive has something to do with these cases: capture needs work, and an empty output launches none; huge
// outputs go through few drives.
[[nodiscard]] bool fits(const SlotSpec&, const TrialPart&);
[[nodiscard]] bool captures(Drive) noexcept;   // the drives that capture and replay

// One function a drive; each appends to the bench's program what will fill the observation whose header is set.
void drive_eager(Bench&, Observation&);
void drive_two_poisons(Bench&, Observation&);
void drive_relocated(Bench&, Observation&);
void drive_guard_pages(Bench&, Observation&);
void drive_garbage(Bench&, Observation&);
void drive_variation(Bench&, Observation&);
void drive_repeat_under_load(Bench&, Observation&);
void drive_late_producer(Bench&, Observation&);
void drive_held_stream(Bench&, Observation&);
void drive_two_streams(Bench&, Observation&);
void drive_capture_replay(Bench&, Observation&);
void drive_interleaved_graphs(Bench&, Observation&);
void drive_regrow(Bench&, Observation&);
void drive_many_replays(Bench&, Observation&);
void drive_prepared(Bench&, Observation&);
void drive_burst(Bench&, Observation&);
void drive_groups(Bench&, Observation&);
void drive_one_rank(Bench&, Observation&);
void drive_routed(Bench&, Observation&);
void drive_endurance(Bench&, Observation&);

// ---- pieces that drives share ----

using Bindings = std::vector<Binding*>;
// Every dynamic input of every binding gets a new version, or only the named one. What is prepared stays as it is.
void mutate(Bench&, const Bindings&, std::uint64_t version, const std::string& only = {});

// The same kind of call with values of its own; 0: the case itself.
[[nodiscard]] Case sibling(const Case&, std::uint64_t index);
// Captures one call a binding into a graph; outputs must stay as they were poisoned. Host memory that the calls were
// given is overwritten afterwards.
void capture(Bench&, const Bindings&, std::uint32_t graph, const std::string& label);

// Takes the harness's scratch out of the memory in use: of ranks on one device each measures that of all.
void leave_out_scratch(Observation&, bool one_device);
// Whether memory in use grew in every interval, and by more than a block in all.
[[nodiscard]] bool grows(const std::vector<DeviceUsage>&);
// Whether what the process holds grew in every stretch of the second half, and by more than a block in that half.
[[nodiscard]] bool grows(const std::vector<std::int64_t>& held);
// Calls that are made very often: cells of all outputs, and multiply-adds, which make them fewer.
inline constexpr std::int64_t kEnduranceCells = 1 << 14;
inline constexpr double kEnduranceWork = 1 << 24;

// Appends one plain call of a pushed binding on stream 0, to the end of the device, and collects it.
bool call_and_collect(Bench&, Binding&, const std::string& label, CollectNotes notes = {});

}  // namespace assay
