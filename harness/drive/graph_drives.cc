// graph_drives.cc: drives that capture and replay: capture_replay, interleaved_graphs, regrow, many_replays.
#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "harness/drive/drives.hpp"
#include "harness/tensor/philox.hpp"

namespace assay {
namespace {

constexpr std::uint32_t kMain = 0, kWarm = 1, kReplay = 2;
constexpr std::uint32_t kBlockingStream = 7;  // of the CUDA device: a legacy-stream launch in capture fails there
constexpr std::uint32_t kWarmOrdinal = 15, kCaptureOrdinal = 14;
constexpr int kIntervals = 4, kReplaysAnInterval = 12, kCallsAnInterval = 3, kAttempts = 6;
constexpr std::chrono::milliseconds kRest(20);

// Warm-up on a side stream, ordered by events after the main one: lazy set-up happens outside the capture.
void warm_up(Bench& bench, const Bindings& bindings) {
  bench.label("warm-up");
  for (Binding* b : bindings) bench.push(*b, Poison::first, kWarmOrdinal);
  bench.script().simple(Op::record, kMain, 0);
  bench.script().simple(Op::wait, kWarm, 0);
  for (Binding* b : bindings) bench.script().call(*b, kWarm);
  bench.script().simple(Op::sync, kWarm);
  bench.script().simple(Op::sync_device, kMain);
}

}  // namespace

void capture(Bench& bench, const Bindings& bindings, std::uint32_t graph, const std::string& label) {
  bench.label(label);
  for (Binding* b : bindings) bench.push(*b, Poison::first, kCaptureOrdinal);
  const Case& c = bindings.front()->c;
  const bool blocking = bench.device() == DeviceType::cuda && (c.seed & 1);
  const std::uint32_t stream = blocking ? kBlockingStream : kMain;
  bench.script().simple(Op::begin_capture, stream, static_cast<std::uint32_t>(CaptureMode::global));
  for (Binding* b : bindings)
    bench.expect(bench.script().call(*b, stream), [label, given = b->c](Observation& seen, const ProgramResult& r) {
      if (!r.binding) return;
      CallSeen changed;  // a changed descriptor, for write.binding
      changed.label = label;
      changed.c = given;
      changed.binding = r.binding;
      seen.calls.push_back(std::move(changed));
    });
  bench.expect(bench.script().simple(Op::end_capture, stream, graph), [](Observation& seen, const ProgramResult& r) {
    seen.graph = r.graph;
    seen.captured = true;
  });
  bench.script().simple(Op::scribble, stream);
  for (Binding* b : bindings)
    bench.probe(*b, [](Observation& seen, const std::string& changed) {
      if (!changed.empty()) seen.ran_at_capture = changed;
    });
}

namespace {

bool replay(Bench& bench, const Bindings& bindings, std::uint32_t graph, std::uint32_t ordinal,
            const std::string& label, const std::string& mutated, int launches = 1) {
  bench.label(label);
  for (Binding* b : bindings) bench.push(*b, Poison::first, ordinal);
  int first = -1;
  for (int i = 0; i < launches; ++i) {
    const int step = bench.script().simple(Op::launch, kReplay, graph);
    if (first < 0) first = step;
  }
  bench.script().simple(Op::sync, kReplay);
  for (Binding* b : bindings)
    if (!bench.collect(*b, label, {.call = first, .mutated = mutated})) return false;
  return true;
}

}  // namespace

Case sibling(const Case& c, std::uint64_t index) {
  Case other = c;
  if (index) other.seed = derive_key(c.seed, "sibling", index) >> 16;
  return other;
}

void drive_capture_replay(Bench& bench, Observation& seen) {
  const Case& c = seen.trial.part.cases[0];
  // One to three calls a graph; one where the arenas are few (far rows) or the outputs huge.
  const bool huge = is_huge(bench.slot(), c);
  const std::uint64_t count = c.far || huge ? 1 : 1 + derive_key(c.seed, "calls in a graph") % 3;
  Bindings bindings;
  for (std::uint64_t i = 0; i < count; ++i) bindings.push_back(&bench.bind(sibling(c, i), Placement::ordinary, i));
  warm_up(bench, bindings);
  capture(bench, bindings, 0, "capture");
  std::vector<std::string> dynamic;
  std::string all;
  for (const ArgumentSpec& a : bench.slot().arguments)
    if (a.kind == 'i' && a.dynamic) {
      dynamic.push_back(a.name);
      all += (all.empty() ? "" : ",") + a.name;
    }
  // Half of the first replays come straight after the capture, half after other work of the same candidate.
  if (!(huge && !bench.slot().weights.empty()) && derive_key(c.seed, "work before the first replay") & 1) {
    Binding& other = bench.bind(sibling(c, count), Placement::ordinary, count);
    bench.push(other);
    if (!call_and_collect(bench, other, "eager call before the first launch")) return;
  }
  std::uint32_t ordinal = 0;
  mutate(bench, bindings, 1);
  if (!replay(bench, bindings, 0, ordinal++, "replay 0", all)) return;
  // Alone, each input; with one input that is the same as together, and huge outputs make do without.
  for (const std::string& name : dynamic) {
    if (huge && dynamic.size() == 1) break;
    mutate(bench, bindings, 1 + ordinal, name);
    if (!replay(bench, bindings, 0, ordinal, "replay " + std::to_string(ordinal), name)) return;
    ++ordinal;
  }
  mutate(bench, bindings, 1 + ordinal);
  replay(bench, bindings, 0, ordinal, "replay " + std::to_string(ordinal), all);
}

void drive_interleaved_graphs(Bench& bench, Observation& seen) {
  const Case& a = seen.trial.part.cases[0];
  const Case& b = seen.trial.part.cases[1];
  Binding& first = bench.bind(a);
  Binding& second = bench.bind(b, Placement::ordinary, 1);
  Binding& eager = bench.bind(sibling(a, 1), Placement::ordinary, 2);
  warm_up(bench, {&first});
  capture(bench, {&first}, 0, "capture of A");
  warm_up(bench, {&second});
  capture(bench, {&second}, 1, "capture of B");
  std::uint64_t draw = derive_key(a.seed, "order of replays");
  for (std::uint32_t i = 0; i < 6; ++i) {
    draw = mix64(draw + i + 1);
    if (i == 3) {
      mutate(bench, {&eager}, i);
      bench.push(eager);
      if (!call_and_collect(bench, eager, "eager call between replays")) return;
      continue;
    }
    // A, B and A again for certain; the rest as drawn.
    const bool take_a = i == 0 || i == 2 || (i != 1 && (draw & 1));
    Binding& turn = take_a ? first : second;
    mutate(bench, {&turn}, i + 1);
    const std::string label = std::string(take_a ? "A" : "B") + ", replay " + std::to_string(i);
    // The last one runs twice in a row: state that a replay leaves behind meets the next.
    if (!replay(bench, {&turn}, take_a ? 0 : 1, i, label, "", i == 5 ? 2 : 1)) return;
  }
}

void drive_regrow(Bench& bench, Observation& seen) {
  Binding& small = bench.bind(seen.trial.part.cases[0]);
  Binding& large = bench.bind(seen.trial.part.cases[1], Placement::ordinary, 1);
  warm_up(bench, {&small});
  capture(bench, {&small}, 0, "capture of the small call");
  bench.push(large);
  if (!call_and_collect(bench, large, "large eager call")) return;
  mutate(bench, {&small}, 1);
  if (!replay(bench, {&small}, 0, 0, "small replay after it", "")) return;
  // What the replay wrote through a stale address would show beside the large call's buffers.
  bench.collect(large, "buffers of the large call", {.reference = false, .bystander = true});
}

void leave_out_scratch(Observation& seen, bool one_device) {
  std::size_t measured = 0;
  for_each_rank(seen, [&](const Observation& rank) { measured = std::max(measured, rank.usage.size()); });
  for (std::size_t i = 0; i < measured; ++i) {
    std::uint64_t of_all = 0;
    for_each_rank(seen, [&](Observation& rank) { of_all += i < rank.usage.size() ? rank.usage[i].scratch_bytes : 0; });
    for_each_rank(seen, [&](Observation& rank) {
      if (i >= rank.usage.size()) return;
      DeviceUsage& usage = rank.usage[i];
      usage.bytes_used -= std::min(usage.bytes_used, one_device ? of_all : usage.scratch_bytes);
      usage.scratch_bytes = 0;
    });
  }
}

bool grows(const std::vector<DeviceUsage>& usage) {
  constexpr std::uint64_t slack = 4u << 20;
  if (usage.size() < 2) return false;
  for (std::size_t i = 1; i < usage.size(); ++i)
    if (usage[i].bytes_used <= usage[i - 1].bytes_used) return false;
  return usage.back().bytes_used > usage.front().bytes_used + slack;
}

namespace {

// Whether the device's memory grows while the candidate does nothing. What was measured of the ranks stays as it is.
bool grows_at_rest(Bench& bench, Observation& seen) {
  std::vector<std::vector<DeviceUsage>> measured;
  for_each_rank(seen, [&](Observation& of_rank) { measured.push_back(std::exchange(of_rank.usage, {})); });
  for (int i = 0; i <= kIntervals; ++i) {
    bench.expect(bench.script().simple(Op::usage, kMain),
                 [](Observation& of_rank, const ProgramResult& r) { of_rank.usage.push_back(r.usage); });
    if (!bench.flush()) break;
    std::this_thread::sleep_for(kRest);
  }
  bool grew = false;
  std::size_t rank = 0;
  for_each_rank(seen, [&](Observation& of_rank) {
    grew = grew || (of_rank.usage.size() > 1 && of_rank.usage.back().bytes_used > of_rank.usage.front().bytes_used);
    of_rank.usage = std::move(measured[rank++]);
  });
  return grew;
}

}  // namespace

void drive_many_replays(Bench& bench, Observation& seen) {
  Binding& b = bench.bind(seen.trial.part.cases[0]);
  warm_up(bench, {&b});
  capture(bench, {&b}, 0, "capture");
  bench.push(b);
  bench.label("many replays");
  const bool one_device = bench.sharing() != Sharing::none || bench.placed() != Sharing::none;
  const int share = bench.sharing() != Sharing::none ? 3 : 1;
  const auto round = [&](int replays, int calls) {
    if (seen.fault || seen.failed_op) return;  // a fresh worker would have no graph
    for (int i = 0; i < replays; ++i) bench.script().simple(Op::launch, kReplay, 0);
    bench.script().simple(Op::sync, kReplay);  // collectives of one group follow each other
    for (int i = 0; i < calls; ++i) bench.script().call(b, kMain);
    bench.script().simple(Op::sync_device, kMain);
    if (one_device && !bench.flush()) return;  // no rank takes scratch while another measures
    bench.expect(bench.script().simple(Op::usage, kMain),
                 [](Observation& seen, const ProgramResult& r) { seen.usage.push_back(r.usage); });
    if (one_device) (void)bench.flush();
  };
  // Others take the device's memory, too: what grows is measured again with all other judges still, twice, and counts
  // where nothing grows while the candidate rests. Where that never happens, nothing was measured.
  for (int attempt = 0, grown = 0; attempt < kAttempts; ++attempt) {
    const DeviceTurns::Hold alone = attempt > 0 ? bench.alone() : DeviceTurns::Hold();
    for_each_rank(seen, [](Observation& of_rank) { of_rank.usage.clear(); });
    round(4, 1);
    for (int i = 0; i < kIntervals; ++i) round(kReplaysAnInterval / share, kCallsAnInterval / share);
    bool growing = false;
    const bool well = bench.flush();
    leave_out_scratch(seen, one_device);
    for_each_rank(seen, [&](Observation& of_rank) {
      of_rank.replays = kIntervals * (kReplaysAnInterval / share);
      growing = growing || grows(of_rank.usage);
    });
    if (!well || !growing) break;
    if (attempt > 0 && !grows_at_rest(bench, seen) && ++grown == (bench.shrinking() ? 1 : 2)) break;
    if (attempt + 1 == kAttempts) for_each_rank(seen, [](Observation& of_rank) { of_rank.usage.clear(); });
  }
  if (!seen.fault && !seen.failed_op) bench.collect(b, "after many replays");
}

}  // namespace assay
