// plain_drives.cc: drives of eager calls on one stream: eager, two_poisons, relocated, guard_pages, garbage.
#include "harness/drive/drives.hpp"

namespace assay {

void note_call(CallSeen& seen, const ProgramResult& result) {
  seen.code = result.code;
  seen.status = result.status;
  seen.binding = result.binding;
  seen.nanoseconds = result.nanoseconds;
}

bool call_and_collect(Bench& bench, Observation& seen, Binding& binding, const std::string& label) {
  Script script = bench.script(binding.c);
  const int call = script.call(binding, 0);
  script.simple(Op::sync, 0);
  script.simple(Op::sync_device, 0);
  if (!bench.run(seen, label)) return false;
  const ProgramResult result = bench.result(call);
  seen.calls.push_back(bench.collect(binding, label));
  note_call(seen.calls.back(), result);
  return true;
}

void drive_eager(Bench& bench, Observation& seen) {
  Binding& b = bench.bind(seen.trial.part.cases[0]);
  bench.push(b);
  call_and_collect(bench, seen, b, "call");
}

void drive_two_poisons(Bench& bench, Observation& seen) {
  Binding& b = bench.bind(seen.trial.part.cases[0]);
  bench.push(b, Poison::first, 16);
  if (!call_and_collect(bench, seen, b, "first poison")) return;
  bench.push(b, Poison::second, 13);
  call_and_collect(bench, seen, b, "second poison");
}

void drive_relocated(Bench& bench, Observation& seen) {
  const Case& a = seen.trial.part.cases[0];
  const Case& other = seen.trial.part.cases[1];
  Binding& first = bench.bind(a);
  Binding& between = bench.bind(other, Placement::ordinary, 1);
  Binding& again = bench.bind(a, Placement::ordinary, 2);
  bench.push(first);
  if (!call_and_collect(bench, seen, first, "call A")) return;
  bench.push(between);
  if (!call_and_collect(bench, seen, between, "call B")) return;
  // What A used holds other values now: a call that still reads or writes it is found out.
  for (std::size_t i = 0; i < first.tensors.size(); ++i)
    if (first.tensors[i].spec->kind == 'i') bench.set_version(first, i, 77);
  bench.push(first, Poison::second, 1);
  // The second visit also brings fresh values of its own.
  for (std::size_t i = 0; i < again.tensors.size(); ++i)
    if (again.tensors[i].spec->kind == 'i' && again.tensors[i].spec->dynamic) bench.set_version(again, i, 1);
  bench.push(again, Poison::first, 13);
  if (!call_and_collect(bench, seen, again, "call A again, elsewhere")) return;
  seen.bystanders.push_back(bench.collect(first, "buffers of the first call", false));
}

void drive_guard_pages(Bench& bench, Observation& seen) {
  const Case& c = seen.trial.part.cases[0];
  if (c.far) return drive_eager(bench, seen);  // far rows have unmapped neighbours already
  for (const Placement side : {Placement::flush_end, Placement::flush_start}) {
    bench.begin_trial();
    Binding& b = bench.bind(c, side);
    bench.push(b);
    if (!call_and_collect(bench, seen, b, side == Placement::flush_end ? "flush with the end" : "flush with the start"))
      return;
  }
}

void drive_garbage(Bench& bench, Observation& seen) {
  Binding& b = bench.bind(seen.trial.part.cases[0]);
  bench.push(b);
  if (!call_and_collect(bench, seen, b, "NaN around the inputs")) return;
  bench.push_inputs(b, Guard::canary);
  bench.push_outputs(b, Poison::first, 16);
  call_and_collect(bench, seen, b, "other bytes around the inputs");
}

}  // namespace assay
