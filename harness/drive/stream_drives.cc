// stream_drives.cc: drives about the order of work: repeat_under_load, late_producer, held_stream, two_streams.
#include "harness/drive/drives.hpp"
#include "harness/tensor/philox.hpp"

namespace assay {
namespace {

constexpr int kRepeats = 8;
constexpr std::uint32_t kMain = 0, kSide = 1, kLoad = 5;

// CUDA loads a kernel lazily at its first launch, which waits for the device: never behind a hold.
void load_kernels(Bench& bench, Binding& b) {
  if (bench.device() != DeviceType::cuda) return;
  bench.label("first launch");
  bench.push(b);
  bench.script().call(b, kSide);
  bench.script().simple(Op::sync, kSide);
}

std::size_t bytes_changed(const Tensor& before, const Tensor& after) {
  const std::size_t bytes = static_cast<std::size_t>(before.size()) * size_of(before.view().dtype);
  const auto* x = static_cast<const std::byte*>(before.view().data);
  const auto* y = static_cast<const std::byte*>(after.view().data);
  std::size_t changed = 0;
  for (std::size_t k = 0; k < bytes; ++k) changed += x[k] != y[k];
  return changed;
}

}  // namespace

void drive_repeat_under_load(Bench& bench, Observation& seen) {
  const Case& c = seen.trial.part.cases[0];
  Binding& b = bench.bind(c);
  bench.push_inputs(b);
  for (int i = 0; i < kRepeats; ++i) {
    const std::string label = "repeat " + std::to_string(i);
    bench.label(label);
    bench.push_outputs(b, Poison::first, static_cast<std::uint32_t>(i));
    // Another order of blocks is the host model's other load.
    if (i > 0) bench.script().schedule({i % 2 != 0, mix64(c.seed + static_cast<std::uint64_t>(i)), false});
    bench.script().simple(Op::load, kLoad);
    const int call = bench.script().call(b, kMain);
    bench.script().simple(Op::sync, kMain);
    bench.script().simple(Op::sync_device, kMain);
    if (!bench.collect(b, label, {.call = call, .reference = false})) return;
  }
}

void drive_late_producer(Bench& bench, Observation& seen) {
  const std::string label = "call behind its producer";
  Binding& b = bench.bind(seen.trial.part.cases[0]);
  load_kernels(bench, b);
  bench.push(b);
  bench.label(label);
  // Until the producer runs, the inputs hold NaN; every byte, so that guards do not tell.
  bench.blank_inputs(b, kMain, 0xFF);
  bench.script().simple(Op::sync, kMain);
  bench.script().simple(Op::hold, kMain);
  bench.push_inputs_on(b, kMain);
  const int call = bench.script().call(b, kMain);
  bench.script().simple(Op::unhold, kMain);
  bench.script().simple(Op::sync, kMain);
  bench.collect(b, label, {.call = call});
  // What the stream's end did not wait for arrives now.
  bench.label("the device's end");
  bench.script().simple(Op::sync_device, kMain);
  bench.collect(b, "after the device's end", {.reference = false, .bystander = true});
  if (!bench.flush()) return;
  for_each_rank(seen, [](Observation& rank) {
    if (rank.calls.empty() || rank.bystanders.empty()) return;
    for (std::size_t i = 0; i < rank.calls.back().outputs.size(); ++i) {
      const OutputSeen& later = rank.bystanders.back().outputs[i];
      if (const std::size_t changed = bytes_changed(rank.calls.back().outputs[i].actual, later.actual))
        rank.late_write = std::to_string(changed) + " bytes of " + later.spec->name +
                          " were written after the call's stream had ended";
    }
    rank.bystanders.clear();
  });
}

void drive_held_stream(Bench& bench, Observation& seen) {
  const std::string label = "call on a held stream";
  Binding& b = bench.bind(seen.trial.part.cases[0]);
  load_kernels(bench, b);
  bench.push(b);
  bench.label(label);
  bench.script().simple(Op::hold, kMain);
  const int call = bench.script().call(b, kMain);
  bench.probe(b, [](Observation& rank, const std::string& changed) { rank.early_write = changed; });
  bench.script().simple(Op::unhold, kMain);
  bench.script().simple(Op::sync, kMain);
  bench.script().simple(Op::sync_device, kMain);
  bench.collect(b, label, {.call = call});
}

void drive_two_streams(Bench& bench, Observation& seen) {
  const Case& c = seen.trial.part.cases[0];
  Case twin = c;
  twin.seed = derive_key(c.seed, "twin") >> 16;
  Binding& a = bench.bind(c);
  Binding& b = bench.bind(twin, Placement::ordinary, 1);
  bench.share_weights(b, a);  // one layer, two requests
  load_kernels(bench, a);
  bench.push(a);
  bench.push(b);
  bench.label("two streams");
  bench.script().schedule({c.early, c.block_seed, true});
  bench.script().simple(Op::hold, kMain);
  bench.script().simple(Op::hold, kSide);
  const int first = bench.script().call(a, kMain);
  const int second = bench.script().call(b, kSide);
  // Twice, so that each stream's second call meets the other's first.
  bench.script().call(a, kMain);
  bench.script().call(b, kSide);
  bench.script().simple(Op::unhold, kMain);
  bench.script().simple(Op::unhold, kSide);
  bench.script().simple(Op::sync_device, kMain);
  if (!bench.collect(a, "on the first stream", {.call = first})) return;
  bench.collect(b, "on the second stream", {.call = second});
}

}  // namespace assay
