// input.*: inputs are read-only, bounded, strided as described, and belong to one call.
#include "conformance/rules/judging.hpp"
#include "harness/compare/output.hpp"

namespace assay {
namespace {

Judgement unchanged(const Observation& seen) {
  for (const CallSeen& call : seen.calls)
    for (const InputSeen& in : call.inputs)
      if (auto found = judging::written(in, "input", call.label)) return *found;
  for (const InputSeen& in : seen.large_inputs)
    if (auto found = judging::written(in, "input", "the trial's end")) return *found;
  return pass(!seen.calls.empty());
}

Judgement bounds(const Observation& seen) {
  // Around the inputs, then in what the contract excludes.
  for (std::size_t k = 1; seen.trial.part.drive == Drive::garbage && k < seen.calls.size(); ++k)
    for (std::size_t i = 0; i < seen.calls[0].outputs.size(); ++i)
      if (auto found = judging::differ(seen, seen.calls[k].outputs[i], seen.calls[0].outputs[i].actual,
                                       Reason::out_of_bounds, seen.calls[k].label)) {
        found->text = "bytes outside the logical inputs reach the output: " + found->text;
        return *found;
      }
  // NaN beside the inputs that reaches the arithmetic shows as a mismatch in both runs alike.
  if (auto found = judging::any_mismatch(seen, Reason::out_of_bounds)) return *found;
  return pass(judging::informative(seen));
}

Judgement strides(const Observation& seen) {
  const Case& c = seen.trial.part.cases[0];
  bool moved = c.far;
  for (const auto& [name, layout] : c.layouts)
    if ((layout.pad || layout.offset) && seen.slot->argument(name).kind == 'i') moved = true;
  if (!moved) return not_applicable();
  if (auto found = judging::any_mismatch(seen)) return *found;
  return pass(judging::informative(seen));
}

Judgement scalars(const Observation& seen) {
  bool any = false, moved = false;
  for (const CallSeen& call : seen.calls) {
    if (call.changed_scalar.empty()) continue;
    any = true;
    if (auto found = judging::mismatch(seen, call, Reason::scalar_ignored)) {
      found->text = "with another " + call.changed_scalar + ": " + found->text;
      return *found;
    }
    // Evidence only where the right answer moved out of the comparator's reach of the first one. No scale can move a
    // selection: that it stays right is all there is to see.
    const CallSeen& base = seen.calls.front();
    const bool selects = grades_selections(seen.slot->comparing(call.c).mode);
    moved = moved || (selects && call.informative);
    for (std::size_t i = 0; i < call.outputs.size() && !selects; ++i) {
      moved = moved || judging::beyond_tolerance(base.outputs[i].actual, call.reference->outputs[i].expected, call.c.dtype);
    }
  }
  if (!any) return not_applicable();
  return pass(moved);
}

Judgement not_retained(const Observation& seen) {
  for (const CallSeen& call : seen.bystanders) {
    for (const OutputSeen& out : call.outputs)
      if (out.poison.count != out.actual.size() || !out.canary.clean())
        return fail(Reason::retained, "a later call wrote to the output of an earlier one: " + out.spec->name, call.label);
    for (const InputSeen& in : call.inputs)
      if (in.changed)
        return fail(Reason::retained, "a later call wrote to the input of an earlier one: " + in.spec->name, call.label);
  }
  for (const CallSeen& call : seen.calls)
    if (auto found = judging::unwritten(call)) {
      found->reason = Reason::retained;
      return *found;
    }
  if (auto found = judging::any_mismatch(seen, Reason::retained)) return *found;
  return pass(judging::informative(seen));
}

const RuleRow rows[] = {
    RuleRow{{.id = "input.unchanged",
             .sentence = "Every input byte, weights and tables included, is the same after the call.",
             .how = "read-only mappings, and private copies compared after every call and replay",
             .drives = {Drive::eager, Drive::capture_replay, Drive::relocated},
             .judge = unchanged}},
    RuleRow{{.id = "input.bounds",
             .sentence = "Bytes outside the logical inputs do not influence the output.",
             .how = "two runs that differ only in padding and guard bands; NaN there; unmapped neighbours",
             .drives = {Drive::garbage, Drive::guard_pages},
             .judge = bounds}},
    RuleRow{{.id = "input.strides",
             .sentence = "Strided and offset inputs within the slot's rule are read right.",
             .how = "rows at drawn pitches, far rows beyond 32-bit offsets",
             .drives = {Drive::eager},
             .judge = strides}},
    RuleRow{{.id = "input.scalars",
             .sentence = "Scalars are inputs: another value changes the result as the reference says.",
             .how = "pairs of calls that differ in one scalar",
             .drives = {Drive::variation},
             .judge = scalars}},
    RuleRow{{.id = "input.not_retained",
             .sentence = "Nothing of one call is used by the next.",
             .how = "calls A, B, A at other addresses; what A used is then refilled and must survive",
             .drives = {Drive::relocated},
             .judge = not_retained}},
};

}  // namespace
}  // namespace assay
