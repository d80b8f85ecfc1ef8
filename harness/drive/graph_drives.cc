// graph_drives.cc: drives that capture and replay: capture_replay, interleaved_graphs, regrow, many_replays.
#include <array>

#include "harness/drive/drives.hpp"
#include "harness/tensor/philox.hpp"

namespace assay {
namespace {

constexpr std::uint32_t kMain = 0, kWarm = 1, kReplay = 2;
constexpr std::uint32_t kBlockingStream = 7;  // of the CUDA device: a legacy-stream launch in capture fails there
constexpr std::uint32_t kWarmOrdinal = 15, kCaptureOrdinal = 14;
constexpr int kManyReplays = 48;

// Warm-up on a side stream, ordered by events after the main one: lazy set-up happens outside the capture.
bool warm_up(Bench& bench, Observation& seen, std::vector<Binding*> bindings) {
  for (Binding* b : bindings) bench.push(*b, Poison::first, kWarmOrdinal);
  Script script = bench.script(bindings.front()->c);
  script.simple(Op::record, kMain, 0);
  script.simple(Op::wait, kWarm, 0);
  for (Binding* b : bindings) script.call(*b, kWarm);
  script.simple(Op::sync, kWarm);
  script.simple(Op::sync_device, kMain);
  return bench.run(seen, "warm-up");
}

// Captures one call a binding into a graph; outputs must stay as they were poisoned.
bool capture(Bench& bench, Observation& seen, std::vector<Binding*> bindings, std::uint32_t graph,
             const std::string& label) {
  for (Binding* b : bindings) bench.push(*b, Poison::first, kCaptureOrdinal);
  const Case& c = bindings.front()->c;
  const bool blocking = bench.device() == DeviceType::cuda && (c.seed & 1);
  const std::uint32_t stream = blocking ? kBlockingStream : kMain;
  Script script = bench.script(c);
  script.simple(Op::begin_capture, stream, static_cast<std::uint32_t>(CaptureMode::global));
  std::vector<int> calls;
  for (Binding* b : bindings) calls.push_back(script.call(*b, stream));
  const int end = script.simple(Op::end_capture, stream, graph);
  script.simple(Op::scribble, stream);
  script.keep_going();  // a failed call must not leave the stream capturing
  const bool ok = bench.run(seen, label);
  if (seen.fault) return false;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    CallSeen call;
    call.label = label;
    call.c = bindings[i]->c;
    note_call(call, bench.result(calls[i]));
    if (call.binding) seen.calls.push_back(std::move(call));  // a changed descriptor is kept for write.binding
  }
  if (!ok) return false;
  seen.graph = bench.result(end).graph;
  seen.captured = true;
  for (Binding* b : bindings)
    if (const std::string changed = bench.changed_outputs(*b); !changed.empty()) seen.ran_at_capture = changed;
  return true;
}

bool replay(Bench& bench, Observation& seen, std::vector<Binding*> bindings, std::uint32_t graph, std::uint32_t ordinal,
            const std::string& label, const std::string& mutated, int launches = 1) {
  for (Binding* b : bindings) bench.push(*b, Poison::first, ordinal);
  Script script = bench.script(bindings.front()->c);
  std::array<int, 8> steps{};
  for (int i = 0; i < launches; ++i) steps[static_cast<std::size_t>(i)] = script.simple(Op::launch, kReplay, graph);
  script.simple(Op::sync, kReplay);
  if (!bench.run(seen, label)) return false;
  const ProgramResult result = bench.result(steps[0]);
  for (Binding* b : bindings) {
    seen.calls.push_back(bench.collect(*b, label));
    note_call(seen.calls.back(), result);
    seen.calls.back().mutated = mutated;
  }
  return true;
}

void drop(Bench& bench, Observation& seen, std::uint32_t graphs) {
  if (seen.fault) return;
  Script script = bench.script(seen.trial.part.cases[0]);
  for (std::uint32_t g = 0; g < graphs; ++g) script.simple(Op::drop_graph, kMain, g);
  script.keep_going();
  bench.run(seen, "graphs dropped", true);
}

// Every dynamic input of every binding gets a new version, or only the named one.
void mutate(Bench& bench, std::vector<Binding*> bindings, std::uint64_t version, const std::string& only = {}) {
  for (Binding* b : bindings)
    for (std::size_t i = 0; i < b->tensors.size(); ++i) {
      const ArgumentSpec& a = *b->tensors[i].spec;
      if (a.kind == 'i' && a.dynamic && (only.empty() || a.name == only)) bench.set_version(*b, i, version);
    }
}

Case sibling(const Case& c, std::uint64_t index) {
  Case other = c;
  if (index) other.seed = derive_key(c.seed, "sibling", index) >> 16;
  return other;
}

}  // namespace

void drive_capture_replay(Bench& bench, Observation& seen) {
  const Case& c = seen.trial.part.cases[0];
  // One to three calls a graph; one where the arenas are few (far rows) or the outputs huge.
  const bool one = c.far || bench.slot().output_cells(c) > (1 << 21);
  const std::uint64_t count = one ? 1 : 1 + derive_key(c.seed, "calls in a graph") % 3;
  std::vector<Binding*> bindings;
  for (std::uint64_t i = 0; i < count; ++i) bindings.push_back(&bench.bind(sibling(c, i), Placement::ordinary, i));
  if (!warm_up(bench, seen, bindings)) return;
  if (capture(bench, seen, bindings, 0, "capture")) {
    std::vector<std::string> dynamic;
    std::string all;
    for (const ArgumentSpec& a : bench.slot().arguments)
      if (a.kind == 'i' && a.dynamic) {
        dynamic.push_back(a.name);
        all += (all.empty() ? "" : ",") + a.name;
      }
    std::uint32_t ordinal = 0;
    mutate(bench, bindings, 1);
    bool ok = replay(bench, seen, bindings, 0, ordinal++, "replay 0", all);
    for (const std::string& name : dynamic) {
      if (!ok) break;
      mutate(bench, bindings, 1 + ordinal, name);
      const std::string label = "replay " + std::to_string(ordinal);
      ok = replay(bench, seen, bindings, 0, ordinal, label, name);
      ++ordinal;
    }
    if (ok) {
      mutate(bench, bindings, 1 + ordinal);
      replay(bench, seen, bindings, 0, ordinal, "replay " + std::to_string(ordinal), all);
    }
  }
  drop(bench, seen, 1);
}

void drive_interleaved_graphs(Bench& bench, Observation& seen) {
  const Case& a = seen.trial.part.cases[0];
  const Case& b = seen.trial.part.cases[1];
  Binding& first = bench.bind(a);
  Binding& second = bench.bind(b, Placement::ordinary, 1);
  Binding& eager = bench.bind(sibling(a, 1), Placement::ordinary, 2);
  if (!warm_up(bench, seen, {&first})) return;
  bool ok = capture(bench, seen, {&first}, 0, "capture of A") && warm_up(bench, seen, {&second}) &&
            capture(bench, seen, {&second}, 1, "capture of B");
  std::uint64_t draw = derive_key(a.seed, "order of replays");
  for (std::uint32_t i = 0; ok && i < 6; ++i) {
    draw = mix64(draw + i + 1);
    if (i == 3) {
      mutate(bench, {&eager}, i);
      bench.push(eager);
      ok = call_and_collect(bench, seen, eager, "eager call between replays");
      continue;
    }
    // A, B and A again for certain; the rest as drawn.
    const bool take_a = i == 0 || i == 2 || (i != 1 && (draw & 1));
    Binding& turn = take_a ? first : second;
    mutate(bench, {&turn}, i + 1);
    const std::string label = std::string(take_a ? "A" : "B") + ", replay " + std::to_string(i);
    // The last one runs twice in a row: state that a replay leaves behind meets the next.
    ok = replay(bench, seen, {&turn}, take_a ? 0 : 1, i, label, "", i == 5 ? 2 : 1);
  }
  drop(bench, seen, 2);
}

void drive_regrow(Bench& bench, Observation& seen) {
  Binding& small = bench.bind(seen.trial.part.cases[0]);
  Binding& large = bench.bind(seen.trial.part.cases[1], Placement::ordinary, 1);
  if (!warm_up(bench, seen, {&small})) return;
  if (capture(bench, seen, {&small}, 0, "capture of the small call")) {
    bench.push(large);
    if (call_and_collect(bench, seen, large, "large eager call")) {
      mutate(bench, {&small}, 1);
      if (replay(bench, seen, {&small}, 0, 0, "small replay after it", "")) {
        // What the replay wrote through a stale address would show beside the large call's buffers.
        seen.bystanders.push_back(bench.collect(large, "buffers of the large call", false));
      }
    }
  }
  drop(bench, seen, 1);
}

void drive_many_replays(Bench& bench, Observation& seen) {
  Binding& b = bench.bind(seen.trial.part.cases[0]);
  if (!warm_up(bench, seen, {&b})) return;
  if (capture(bench, seen, {&b}, 0, "capture")) {
    bench.push(b);
    Script script = bench.script(b.c);
    for (int i = 0; i < 4; ++i) script.simple(Op::launch, kReplay, 0);
    script.call(b, kMain);
    script.simple(Op::sync_device, kMain);
    const int before = script.simple(Op::usage, kMain);
    for (int i = 0; i < kManyReplays; ++i) {
      script.simple(Op::launch, kReplay, 0);
      if (i % 4 == 0) script.call(b, kMain);
      if (i % 4 == 0) script.simple(Op::sync_device, kMain);
    }
    script.simple(Op::sync_device, kMain);
    const int after = script.simple(Op::usage, kMain);
    if (bench.run(seen, "many replays")) {
      seen.usage_before = bench.result(before).usage;
      seen.usage_after = bench.result(after).usage;
      seen.replays = kManyReplays;
      seen.calls.push_back(bench.collect(b, "after many replays"));
    }
  }
  drop(bench, seen, 1);
}

}  // namespace assay
