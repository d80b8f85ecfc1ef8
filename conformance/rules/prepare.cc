// prepare.*: raw weights become prepared ones once, and nothing else stays behind. Only slots with weights.
#include <algorithm>

#include "conformance/rules/judging.hpp"

namespace assay {
namespace {

constexpr std::int64_t kSlackBytes = 64 << 20, kTimesRaw = 4;  // spec/slots.md 7(5)

Judgement once(const Observation& seen) {
  for (const CallSeen& call : seen.calls) {
    if (call.label.rfind("layer A", 0) != 0 && call.label != "layer B") continue;
    if (call.label.find("beside") != std::string::npos || call.label.find("after") != std::string::npos) continue;
    if (auto found = judging::mismatch(seen, call, Reason::prepared)) {
      found->text = "one prepare, and calls that work from what it returned: " + found->text;
      return *found;
    }
  }
  return seen.prepares.empty() ? not_applicable() : pass(judging::informative(seen));
}

Judgement isolated(const Observation& seen) {
  bool any = false;
  for (const CallSeen& call : seen.calls) {
    if (call.label.rfind("layer A", 0) != 0 && call.label != "layer B") continue;
    any = true;
    if (auto found = judging::mismatch(seen, call, Reason::not_isolated)) {
      found->text = "two prepared layers disturb each other: " + found->text;
      return *found;
    }
  }
  return any ? pass(judging::informative(seen)) : not_applicable();
}

Judgement raw_unchanged(const Observation& seen) {
  for (const InputSeen& w : seen.weights)
    if (auto found = judging::written(w, "raw weight", "the trial's end")) return *found;
  return seen.weights.empty() ? not_applicable() : pass();
}

std::string megabytes(std::int64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

// What the first prepare does once for the process (a driver's thread, a context's memory) is not its result: the least
// of all prepares counts for bytes and, on a GPU, for threads.
Judgement bounded(const Observation& seen) {
  if (seen.prepares.empty()) return not_applicable();
  std::uint32_t any = 0, all = ~0u;
  std::int64_t device = INT64_MAX, host = INT64_MAX, raw = 0;
  for (const PrepareSeen& p : seen.prepares) {
    any |= p.surroundings;
    all &= p.surroundings;
    device = std::min(device, p.device_bytes);
    host = std::min(host, p.host_bytes);
    raw = std::max(raw, p.raw_bytes);
  }
  const std::uint32_t changed = seen.device == DeviceType::cuda ? (any & ~static_cast<std::uint32_t>(kThreads)) | all : any;
  std::string what;
  const std::pair<std::uint32_t, const char*> names[] = {{kEnvironment, "the environment"},
                                                         {kSignalHandlers, "a signal handler"},
                                                         {kDirectory, "the working directory"},
                                                         {kThreads, "the number of threads"}};
  for (const auto& [bit, name] : names)
    if (changed & bit) what += (what.empty() ? "" : ", ") + std::string(name);
  if (!what.empty()) return fail(Reason::left_behind, "prepare left changed: " + what, "prepare");
  const std::int64_t limit = kTimesRaw * raw + kSlackBytes;
  for (const auto& [where, bytes] : {std::pair("device", device), std::pair("host", host)})
    if (bytes > limit)
      return fail(Reason::left_behind,
                  "prepare holds " + megabytes(bytes) + " of " + where + " memory for " + megabytes(raw) +
                      " of raw weights; 4 times as much and 64 MiB are allowed",
                  "prepare");
  return pass();
}

Judgement tagged_view(const Observation& seen) {
  const SlotSpec& slot = *seen.slot;
  const Case& c = seen.trial.part.cases[0];
  if (std::string_view(slot.weight_facts(c).form) == "dense") return not_applicable();
  if (auto found = judging::any_mismatch(seen, Reason::prepared)) {
    found->text = "from the tagged view: " + found->text;
    return *found;
  }
  return pass(judging::informative(seen));
}

const RuleRow rows[] = {
    RuleRow{{.id = "prepare.once",
             .sentence = "Prepare is called once a weight set; every forward works from what it returned.",
             .how = "two layers, each prepared once, several calls with fresh inputs",
             .drives = {Drive::prepared},
             .needs_prepare = true,
             .judge = once}},
    RuleRow{{.id = "prepare.isolated",
             .sentence = "Two prepared layers do not disturb each other; releasing one leaves the other working.",
             .how = "layer A between and after calls of layer B, and after B's release",
             .drives = {Drive::prepared},
             .needs_prepare = true,
             .judge = isolated}},
    RuleRow{{.id = "prepare.raw_unchanged",
             .sentence = "Raw weights and scales are as they were, after prepare and after every forward.",
             .how = "read-only mappings; every byte compared at the trial's end",
             .drives = {Drive::eager, Drive::prepared, Drive::capture_replay},
             .needs_prepare = true,
             .judge = raw_unchanged}},
    RuleRow{{.id = "prepare.tagged_view",
             .sentence = "The quantised form is prepared from exactly the tagged view.",
             .how = "the view of spec/slots.md 6.2 and no other; scales, alphas and outer scales differ by expert",
             .drives = {Drive::prepared},
             .needs_prepare = true,
             .judge = tagged_view}},
    RuleRow{{.id = "prepare.bounded",
             .sentence = "Prepare leaves its result behind and nothing else.",
             .how = "device and host bytes held, environment, signal handlers, directory and threads, before and after",
             .drives = {Drive::prepared},
             .needs_prepare = true,
             .judge = bounded}},
};

}  // namespace
}  // namespace assay
