// plain_drives.cc: drives of eager calls on one stream: eager, two_poisons, relocated, guard_pages, garbage.
#include "harness/drive/drives.hpp"
#include "harness/tensor/philox.hpp"

namespace assay {

void mutate(Bench& bench, const Bindings& bindings, std::uint64_t version, const std::string& only) {
  for (Binding* b : bindings)
    for (std::size_t i = 0; i < b->tensors.size(); ++i) {
      const ArgumentSpec& a = *b->tensors[i].spec;
      if (a.kind != 'i' || !a.dynamic || b->tensors[i].weight) continue;
      if (only.empty() || a.name == only) bench.set_version(*b, i, version);
    }
}

bool call_and_collect(Bench& bench, Binding& binding, const std::string& label, CollectNotes notes) {
  bench.label(label);
  notes.call = bench.script().call(binding, 0);
  bench.script().simple(Op::sync, 0);
  bench.script().simple(Op::sync_device, 0);
  return bench.collect(binding, label, std::move(notes));
}

void drive_eager(Bench& bench, Observation& seen) {
  Binding& b = bench.bind(seen.trial.part.cases[0]);
  bench.push(b);
  call_and_collect(bench, b, "call");
}

void drive_two_poisons(Bench& bench, Observation& seen) {
  Binding& b = bench.bind(seen.trial.part.cases[0]);
  bench.push(b, Poison::first, 16);
  if (!call_and_collect(bench, b, "first poison")) return;
  bench.push(b, Poison::second, 13);
  call_and_collect(bench, b, "second poison");
}

void drive_relocated(Bench& bench, Observation& seen) {
  const Case& a = seen.trial.part.cases[0];
  const Case& other = seen.trial.part.cases[1];
  Binding& first = bench.bind(a);
  Binding& between = bench.bind(other, Placement::ordinary, 1);
  Binding& again = bench.bind(a, Placement::ordinary, 2);
  bench.push(first);
  if (!call_and_collect(bench, first, "call A")) return;
  bench.push(between);
  if (!call_and_collect(bench, between, "call B")) return;
  // What A used holds other values now: a call that still reads or writes it is found out.
  for (std::size_t i = 0; i < first.tensors.size(); ++i)
    if (first.tensors[i].spec->kind == 'i' && !first.tensors[i].weight) bench.set_version(first, i, 77);
  bench.push(first, Poison::second, 1);
  // The second visit also brings fresh values of its own.
  mutate(bench, {&again}, 1);
  bench.push(again, Poison::first, 13);
  if (!call_and_collect(bench, again, "call A again, elsewhere")) return;
  bench.collect(first, "buffers of the first call", {.reference = false, .bystander = true});
}

void drive_guard_pages(Bench& bench, Observation& seen) {
  const Case& c = seen.trial.part.cases[0];
  if (c.far) return drive_eager(bench, seen);  // far rows have unmapped neighbours already
  for (const Placement side : {Placement::flush_end, Placement::flush_start}) {
    Binding& b = bench.bind(c, side);
    bench.push(b);
    if (!call_and_collect(bench, b, side == Placement::flush_end ? "flush with the end" : "flush with the start")) return;
  }
}

void drive_garbage(Bench& bench, Observation& seen) {
  Binding& b = bench.bind(seen.trial.part.cases[0]);
  bench.push(b);
  if (!call_and_collect(bench, b, "NaN around the inputs")) return;
  bench.push_inputs(b, Guard::canary);
  bench.push_outputs(b, Poison::first, 16);
  if (!call_and_collect(bench, b, "other bytes around the inputs")) return;
  // What the contract excludes must not matter, not even as NaN. Weights are prepared anew, in buffers of their own.
  for (const bool nan : {true, false}) {
    Binding& spoiled = bench.bind(b.c, Placement::ordinary, nan ? 1 : 2);
    if (!bench.spoil_excluded(spoiled, nan)) return;
    bench.push(spoiled);
    if (!call_and_collect(bench, spoiled, nan ? "NaN in what is excluded" : "large values in what is excluded")) return;
  }
}

void drive_prepared(Bench& bench, Observation& seen) {
  const Case& c = seen.trial.part.cases[0];
  Case other = c;
  other.seed = derive_key(c.seed, "second layer") >> 16;
  Binding& a = bench.bind(c);
  Binding& b = bench.bind(other, Placement::ordinary, 1);
  const auto fresh = [&](Binding& binding, std::uint64_t version) {
    mutate(bench, {&binding}, version);
    bench.push(binding);
  };
  bench.push(a);
  if (!call_and_collect(bench, a, "layer A")) return;
  fresh(a, 1);
  if (!call_and_collect(bench, a, "layer A again")) return;
  bench.push(b);
  if (!call_and_collect(bench, b, "layer B")) return;
  fresh(a, 2);
  if (!call_and_collect(bench, a, "layer A beside B")) return;
  bench.release(b);
  fresh(a, 3);
  call_and_collect(bench, a, "layer A after B was released");
}

}  // namespace assay
