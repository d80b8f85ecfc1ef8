// stream_drives.cc: drives about the order of work: repeat_under_load, late_producer, held_stream, two_streams.
#include "harness/drive/drives.hpp"
#include "harness/tensor/philox.hpp"

namespace assay {
namespace {

constexpr int kRepeats = 8;
constexpr std::uint32_t kMain = 0, kSide = 1, kLoad = 5;

// CUDA loads a kernel lazily at its first launch, which waits for the device: never behind a hold.
bool loaded(Bench& bench, Observation& seen, Binding& b) {
  if (bench.device() != DeviceType::cuda) return true;
  Script script = bench.script(b.c);
  script.call(b, kSide);
  script.simple(Op::sync, kSide);
  return bench.run(seen, "first launch");
}

}  // namespace

void drive_repeat_under_load(Bench& bench, Observation& seen) {
  Binding& b = bench.bind(seen.trial.part.cases[0]);
  for (int i = 0; i < kRepeats; ++i) {
    bench.push(b, Poison::first, static_cast<std::uint32_t>(i));
    Script script = bench.script(b.c);
    // Another order of blocks is the host model's other load.
    if (i > 0) script.blocks(mix64(b.c.seed + static_cast<std::uint64_t>(i)), i % 2 != 0);
    script.simple(Op::load, kLoad);
    const int call = script.call(b, kMain);
    script.simple(Op::load, kLoad);
    script.simple(Op::sync, kMain);
    script.simple(Op::sync_device, kMain);
    const std::string label = "repeat " + std::to_string(i);
    if (!bench.run(seen, label)) return;
    const ProgramResult result = bench.result(call);
    seen.calls.push_back(bench.collect(b, label, false));
    note_call(seen.calls.back(), result);
  }
}

void drive_late_producer(Bench& bench, Observation& seen) {
  Binding& b = bench.bind(seen.trial.part.cases[0]);
  bench.push(b);
  if (!loaded(bench, seen, b)) return;
  bench.push(b);
  std::vector<std::pair<std::size_t, Bench::Shelf>> shelves;
  for (std::size_t i = 0; i < b.tensors.size(); ++i)
    if (b.tensors[i].spec->kind == 'i') shelves.emplace_back(i, bench.shelve(b.tensors[i]));
  // Until the producer runs, the inputs hold NaN; every byte, so that guards do not tell.
  Script early = bench.script(b.c);
  for (const auto& [i, shelf] : shelves)
    for (std::size_t p = 0; p < b.tensors[i].pieces.size(); ++p) early.fill(kMain, b.tensors[i], p, 0xFF, 1);
  early.simple(Op::sync, kMain);
  if (!bench.run(seen, "inputs blanked")) return;

  Script script = bench.script(b.c);
  script.simple(Op::hold, kMain);
  for (const auto& [i, shelf] : shelves)
    for (std::size_t p = 0; p < b.tensors[i].pieces.size(); ++p)
      script.copy(kMain, b.tensors[i], shelf.offsets[p], shelf.arena, p);
  const int call = script.call(b, kMain);
  script.simple(Op::unhold, kMain);
  script.simple(Op::sync, kMain);
  if (!bench.run(seen, "call behind its producer")) return;
  const ProgramResult result = bench.result(call);
  seen.calls.push_back(bench.collect(b, "call behind its producer"));
  note_call(seen.calls.back(), result);
  // What the stream's end did not wait for arrives now.
  Script rest = bench.script(b.c);
  rest.simple(Op::sync_device, kMain);
  if (!bench.run(seen, "the device's end")) return;
  const CallSeen later = bench.collect(b, "after the device's end", false);
  for (std::size_t i = 0; i < later.outputs.size(); ++i) {
    const auto before = seen.calls.back().outputs[i].actual.view(), after = later.outputs[i].actual.view();
    const std::size_t bytes = static_cast<std::size_t>(before.size()) * size_of(before.dtype);
    const auto* x = static_cast<const std::byte*>(before.data);
    const auto* y = static_cast<const std::byte*>(after.data);
    std::size_t changed = 0;
    for (std::size_t k = 0; k < bytes; ++k) changed += x[k] != y[k];
    if (changed)
      seen.late_write = std::to_string(changed) + " bytes of " + later.outputs[i].spec->name +
                        " were written after the call's stream had ended";
  }
}

void drive_held_stream(Bench& bench, Observation& seen) {
  Binding& b = bench.bind(seen.trial.part.cases[0]);
  bench.push(b);
  if (!loaded(bench, seen, b)) return;
  bench.push(b);
  Script held = bench.script(b.c);
  held.simple(Op::hold, kMain);
  const int call = held.call(b, kMain);
  const bool returned = bench.run(seen, "call on a held stream");
  if (seen.fault) return;
  const ProgramResult result = bench.result(call);
  if (returned) seen.early_write = bench.changed_outputs(b);
  Script rest = bench.script(b.c);
  rest.simple(Op::unhold, kMain);
  rest.simple(Op::sync, kMain);
  rest.simple(Op::sync_device, kMain);
  if (!bench.run(seen, "the stream released") || !returned) return;
  seen.calls.push_back(bench.collect(b, "call on a held stream"));
  note_call(seen.calls.back(), result);
}

void drive_two_streams(Bench& bench, Observation& seen) {
  const Case& c = seen.trial.part.cases[0];
  Case twin = c;
  twin.seed = derive_key(c.seed, "twin") >> 16;
  Binding& a = bench.bind(c);
  Binding& b = bench.bind(twin, Placement::ordinary, 1);
  bench.push(a);
  bench.push(b);
  if (!loaded(bench, seen, a)) return;
  bench.push(a);
  Script script = bench.script(c);
  script.threads();
  script.simple(Op::hold, kMain);
  script.simple(Op::hold, kSide);
  const int first = script.call(a, kMain);
  const int second = script.call(b, kSide);
  // Twice, so that each stream's second call meets the other's first.
  script.call(a, kMain);
  script.call(b, kSide);
  script.simple(Op::unhold, kMain);
  script.simple(Op::unhold, kSide);
  script.simple(Op::sync_device, kMain);
  if (!bench.run(seen, "two streams")) return;
  const ProgramResult ra = bench.result(first), rb = bench.result(second);
  seen.calls.push_back(bench.collect(a, "on the first stream"));
  note_call(seen.calls.back(), ra);
  seen.calls.push_back(bench.collect(b, "on the second stream"));
  note_call(seen.calls.back(), rb);
}

}  // namespace assay
