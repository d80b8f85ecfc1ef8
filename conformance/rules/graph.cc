// graph.*: capture and replay. On the host the result is labelled host-model and is never GPU proof.
#include "conformance/rules/judging.hpp"
#include "harness/drive/drives.hpp"

namespace assay {
namespace {

bool is_replay(const CallSeen& call) { return call.label.find("replay") != std::string::npos; }
bool is_eager(const CallSeen& call) { return call.label.rfind("eager", 0) == 0 || call.label.rfind("large", 0) == 0; }

template <class Pick>
Judgement compare_where(const Observation& seen, Reason reason, Pick&& pick) {
  bool any = false, evidence = false;
  for (const CallSeen& call : seen.calls) {
    if (!pick(call)) continue;
    any = true;
    if (auto found = judging::mismatch(seen, call, reason)) return *found;
    evidence = evidence || call.informative;
  }
  return any ? pass(evidence) : not_applicable();
}

Judgement captures(const Observation& seen) { return seen.captured ? pass() : not_applicable(); }

Judgement nothing_runs(const Observation& seen) {
  if (!seen.captured) return not_applicable();
  if (!seen.ran_at_capture.empty())
    return fail(Reason::ran_at_capture, "capturing executed work: " + seen.ran_at_capture, "capture");
  return pass();
}

Judgement replay_rewrites(const Observation& seen) {
  bool any = false;
  for (const CallSeen& call : seen.calls) {
    if (!is_replay(call)) continue;
    if (auto found = judging::unwritten(call)) return *found;
    for (const OutputSeen& out : call.outputs) {
      any = any || out.actual.size() > 0;
      if (!out.canary.clean())
        return fail(Reason::stray_write, "a replay wrote around " + out.spec->name + ": " + out.canary.text, call.label);
    }
  }
  return pass(any);
}

Judgement follows_inputs(const Observation& seen) {
  for (const CallSeen& call : seen.calls) {
    if (!is_replay(call)) continue;
    if (auto found = judging::mismatch(seen, call, Reason::baked)) {
      found->text = "a replay does not follow its inputs (changed: " + call.mutated + "): " + found->text;
      return *found;
    }
  }
  return pass(judging::informative(seen));
}

Judgement growth(const Observation& seen) {
  if (seen.usage.size() < 2) return not_applicable();
  const DeviceUsage &before = seen.usage.front(), &after = seen.usage.back();
  if (grows(seen.usage))
    return fail(Reason::growth, "device memory grew by " + std::to_string(after.bytes_used - before.bytes_used) +
                                    " bytes over " + std::to_string(seen.replays) + " replays and the calls between them",
                "many replays");
  if (after.handles > before.handles)
    return fail(Reason::growth, "live handles grew by " + std::to_string(after.handles - before.handles), "many replays");
  return pass();
}

Judgement workspace_moves(const Observation& seen) {
  for (const CallSeen& call : seen.bystanders) {
    for (const OutputSeen& out : call.outputs)
      if (!out.canary.clean())
        return fail(Reason::workspace_moved, "the small replay wrote around the large call's " + out.spec->name, call.label);
    for (const InputSeen& in : call.inputs)
      if (in.changed)
        return fail(Reason::workspace_moved, "the small replay wrote to the large call's " + in.spec->name, call.label);
  }
  if (auto found = judging::any_mismatch(seen, Reason::workspace_moved)) return *found;
  return pass(judging::informative(seen));
}

// Whatever capture and replay demand, in one place: what the declaration stands for.
Judgement declared(const Observation& seen) {
  for (const auto& part : {nothing_runs(seen), replay_rewrites(seen), follows_inputs(seen)})
    if (part.verdict == Verdict::fail) return part;
  return seen.captured ? pass(judging::informative(seen)) : not_applicable();
}

const RuleRow rows[] = {
    RuleRow{{.id = "graph.captures",
             .sentence = "Warm-up, then capture, succeeds: no synchronisation, no allocation, nothing left unjoined.",
             .how = "one call under global capture on a non-blocking and on a blocking stream",
             .drives = {Drive::capture_replay},
             .needs_flags = ASSAY_GRAPH_SAFE,
             .judge = captures}},
    RuleRow{{.id = "graph.nothing_runs_at_capture",
             .sentence = "Capturing executes nothing.",
             .how = "poison placed before capture is intact after it",
             .drives = {Drive::capture_replay},
             .needs_flags = ASSAY_GRAPH_SAFE,
             .judge = nothing_runs}},
    RuleRow{{.id = "graph.replay_rewrites",
             .sentence = "Each replay rewrites every cell of freshly poisoned outputs.",
             .how = "outputs poisoned before every replay, integers with another pattern each time",
             .drives = {Drive::capture_replay},
             .needs_flags = ASSAY_GRAPH_SAFE,
             .judge = replay_rewrites}},
    RuleRow{{.id = "graph.follows_inputs",
             .sentence = "Every declared dynamic input, changed alone and together, is followed by the replay.",
             .how = "fresh inputs at the captured addresses; each replay has its own reference",
             .drives = {Drive::capture_replay},
             .needs_flags = ASSAY_GRAPH_SAFE,
             .judge = follows_inputs}},
    RuleRow{{.id = "graph.host_gone",
             .sentence = "Host arguments given to the captured call may be gone at replay.",
             .how = "descriptors, shapes and argument blocks are overwritten after capture",
             .drives = {Drive::capture_replay},
             .needs_flags = ASSAY_GRAPH_SAFE,
             .judge = [](const Observation& seen) { return compare_where(seen, Reason::host_memory, is_replay); }}},
    RuleRow{{.id = "graph.cold_first",
             .sentence = "The first replay is as right as later ones.",
             .how = "the first launch after instantiation, with fresh inputs",
             .drives = {Drive::capture_replay},
             .needs_flags = ASSAY_GRAPH_SAFE,
             .judge = [](const Observation& seen) {
               return compare_where(seen, Reason::cold, [](const CallSeen& c) { return c.label == "replay 0"; });
             }}},
    RuleRow{{.id = "graph.call_count",
             .sentence = "One, two and three calls in one graph are right.",
             .how = "one to three calls a graph, each on its own buffers",
             .drives = {Drive::capture_replay},
             .needs_flags = ASSAY_GRAPH_SAFE,
             .judge = [](const Observation& seen) { return compare_where(seen, Reason::call_count, is_replay); }}},
    RuleRow{{.id = "graph.declared",
             .sentence = "A variant that declares GRAPH_SAFE passes capture and replay.",
             .how = "all of the above; a variant that does not declare it has no graph proof (NUMERICAL_PASS)",
             .drives = {Drive::capture_replay},
             .judge = declared}},
    RuleRow{{.id = "graph.order_free",
             .sentence = "Replays repeated, reversed and interleaved with another graph give the same results.",
             .how = "two graphs on two sets of buffers, launched in drawn order and twice in a row",
             .drives = {Drive::interleaved_graphs},
             .needs_flags = ASSAY_GRAPH_SAFE,
             .judge = [](const Observation& seen) { return compare_where(seen, Reason::order_dependent, is_replay); }}},
    RuleRow{{.id = "graph.eager_after",
             .sentence = "Eager calls between replays and a second capture at another shape are right.",
             .how = "an eager call on other buffers between replays; the second graph has another shape",
             .drives = {Drive::interleaved_graphs},
             .needs_flags = ASSAY_GRAPH_SAFE,
             .judge = [](const Observation& seen) {
               return compare_where(seen, Reason::stale_eager, [](const CallSeen& c) {
                 return is_eager(c) || c.label.rfind("B,", 0) == 0;
               });
             }}},
    RuleRow{{.id = "graph.workspace_moves",
             .sentence = "Capture small, run large eagerly, replay small: still right.",
             .how = "a larger eager call between capture and replay",
             .drives = {Drive::regrow},
             .needs_flags = ASSAY_GRAPH_SAFE,
             .judge = workspace_moves}},
    RuleRow{{.id = "graph.no_growth",
             .sentence = "Device memory and handles do not grow over many replays.",
             .how = "memory and handles read around four intervals of 12 replays and 3 calls each, of 4 and one where ranks "
                    "share a GPU",
             .drives = {Drive::many_replays},
             .devices = {DeviceType::cuda},
             .needs_flags = ASSAY_GRAPH_SAFE,
             .judge = growth}},
};

}  // namespace
}  // namespace assay
