// write.*: the write-into-output contract.
#include "conformance/rules/judging.hpp"
#include "harness/drive/drives.hpp"
#include "harness/tensor/cells.hpp"

namespace assay {
namespace {

bool has_cells(const Observation& seen) {
  for (const CallSeen& call : seen.calls)
    for (const OutputSeen& out : call.outputs)
      if (out.actual.size() > 0) return true;
  return false;
}

Judgement every_cell(const Observation& seen) {
  for (const CallSeen& call : seen.calls)
    if (auto found = judging::unwritten(call)) return *found;
  // A cell that took its value from what was there before is as unwritten as one that kept it.
  if (seen.trial.part.drive == Drive::two_poisons && seen.variant.deterministic() && seen.calls.size() == 2)
    for (std::size_t i = 0; i < seen.calls[0].outputs.size(); ++i)
      if (auto text = judging::bitwise_difference(seen.calls[0].outputs[i].actual, seen.calls[1].outputs[i].actual);
          !text.empty())
        return fail(Reason::unwritten, "the output depends on what its memory held before: " + text, "second poison");
  return pass(has_cells(seen));
}

Judgement only_cells(const Observation& seen) {
  for (const auto* calls : {&seen.calls, &seen.bystanders})
    for (const CallSeen& call : *calls) {
      for (const OutputSeen& out : call.outputs)
        if (!out.canary.clean())
          return fail(Reason::stray_write, "bytes around " + out.spec->name + " were written: " + out.canary.text,
                      call.label);
    }
  return pass(has_cells(seen));
}

Judgement binding(const Observation& seen) {
  for (const CallSeen& call : seen.calls) {
    if (!call.binding) continue;
    std::string what;
    const std::pair<std::uint32_t, const char*> names[] = {
        {kData, "data pointer"}, {kShape, "shape"},   {kStrides, "strides"},          {kDType, "dtype"},
        {kDeviceField, "device"}, {kOffset, "offset"}, {kInputDescriptor, "input descriptor"}};
    for (const auto& [bit, name] : names)
      if (call.binding & bit) what += (what.empty() ? "" : ", ") + std::string(name);
    return fail(Reason::binding, "the call changed what describes its tensors: " + what, call.label);
  }
  return pass(!seen.calls.empty());
}

Judgement strides(const Observation& seen) {
  const Case& c = seen.trial.part.cases[0];
  bool padded = c.far;
  for (const auto& [name, layout] : c.layouts)
    if (layout.pad && seen.slot->argument(name).kind == 'o') padded = true;
  if (!padded) return not_applicable();
  for (const CallSeen& call : seen.calls)
    for (const OutputSeen& out : call.outputs)
      if (!out.canary.clean())
        return fail(Reason::stray_write, "the padding of " + out.spec->name + " was written: " + out.canary.text,
                    call.label);
  if (auto found = judging::any_mismatch(seen)) return *found;
  return pass(has_cells(seen));
}

Judgement no_alias(const Observation& seen) {
  for (const CallSeen& call : seen.calls) {
    if (auto found = judging::unwritten(call)) {
      found->reason = Reason::aliasing;
      return *found;
    }
  }
  if (auto found = judging::any_mismatch(seen, Reason::aliasing)) {
    found->text = "right only for tensors at some distance or order in memory: " + found->text;
    return *found;
  }
  return pass(judging::informative(seen));
}

Judgement surroundings(const Observation& seen) {
  std::string what;
  const std::pair<std::uint32_t, const char*> names[] = {{kEnvironment, "the environment"},
                                                         {kSignalHandlers, "a signal handler"},
                                                         {kDirectory, "the working directory"},
                                                         {kRounding, "how the thread rounds"},
                                                         {kCache, "how much of the device's cache is set aside"}};
  for (const auto& [bit, name] : names)
    if (seen.surroundings & bit) what += (what.empty() ? "" : ", ") + std::string(name);
  if (!what.empty()) return fail(Reason::left_behind, "the calls left changed in their process: " + what, "the trial's end");
  return pass(!seen.calls.empty());
}

Judgement no_growth(const Observation& seen) {
  if (seen.held.size() < 2) return not_applicable();
  if (grows(seen.held))
    return fail(Reason::growth, "the process holds " + std::to_string(seen.held.back() - seen.held.front()) +
                                    " bytes more on the host after " + std::to_string(seen.endured) +
                                    " calls, and grew in every stretch of them",
                "many calls");
  return pass();
}

Judgement no_return(const Observation& seen) { return pass(!seen.calls.empty()); }

const RuleRow rows[] = {
    RuleRow{{.id = "write.every_cell",
             .sentence = "Every logical cell of every output is written.",
             .how = "the same call from two poisons, a quiet NaN and a large finite value; a cell that keeps its poison, "
                    "or that differs between the two runs, is unwritten",
             .drives = {Drive::two_poisons, Drive::eager},
             .judge = every_cell}},
    RuleRow{{.id = "write.only_cells",
             .sentence = "Nothing but the logical cells of the outputs is written.",
             .how = "canaries in row padding and in guard bands on both sides; unmapped memory flush with either end; "
                    "read-only input mappings",
             .drives = {Drive::eager, Drive::guard_pages, Drive::relocated},
             .judge = only_cells}},
    RuleRow{{.id = "write.binding",
             .sentence = "Pointer, shape, strides, dtype, device and offset of every tensor are the same after the call.",
             .how = "descriptors compared byte for byte with a private copy",
             .drives = {Drive::eager, Drive::capture_replay},
             .judge = binding,
             .on_failed_step = [](const Observation&) { return not_applicable(); }}},
    RuleRow{{.id = "write.strides",
             .sentence = "Outputs whose rows lie at a pitch are written at that pitch.",
             .how = "row-padded, offset and far outputs within the slot's stride rule",
             .drives = {Drive::eager, Drive::guard_pages},
             .on_padded_outputs = true,
             .judge = strides}},
    RuleRow{{.id = "write.no_alias",
             .sentence = "The call does not rely on where outputs lie relative to inputs or to each other.",
             .how = "disjoint storages at drawn distances and in both orders, moved between calls",
             .drives = {Drive::relocated},
             .judge = no_alias}},
    RuleRow{{.id = "write.surroundings",
             .sentence = "A call leaves its process as it was: environment, signal handlers, directory, rounding, cache set aside.",
             .how = "each read before the first call of a program and after its last",
             .drives = {Drive::eager, Drive::guard_pages, Drive::capture_replay},
             .judge = surroundings}},
    RuleRow{{.id = "write.no_growth",
             .sentence = "The process holds no more on the host after very many calls than after a few.",
             .how = "heap in use and touched pages after each of eight stretches of calls; growth in every one of the "
                    "last four, by more than 4 MiB",
             .drives = {Drive::endurance},
             .judge = no_growth}},
    RuleRow{{.id = "write.no_return",
             .sentence = "The status is the only thing returned, and inside the declared domain it is ASSAY_OK.",
             .how = "any other status fails the call; nothing is served in its place",
             .drives = {Drive::eager},
             .judge = no_return}},
};

}  // namespace
}  // namespace assay
