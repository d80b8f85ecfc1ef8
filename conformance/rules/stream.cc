// stream.*: the order of work on the given stream.
#include "conformance/rules/judging.hpp"

namespace assay {
namespace {

Judgement ordered(const Observation& seen) {
  if (!seen.late_write.empty()) return fail(Reason::late_write, seen.late_write, "call behind its producer");
  for (const CallSeen& call : seen.calls)
    if (auto found = judging::unwritten(call)) {
      found->reason = Reason::unordered;
      return *found;
    }
  if (auto found = judging::any_mismatch(seen, Reason::unordered)) {
    found->text = "inputs that a producer wrote late on the same stream were not seen: " + found->text;
    return *found;
  }
  return pass(judging::informative(seen));
}

Judgement no_host_sync(const Observation& seen) {
  if (!seen.early_write.empty())
    return fail(Reason::unordered, "the call did not wait for its stream: " + seen.early_write, "call on a held stream");
  if (auto found = judging::any_mismatch(seen)) return *found;
  return pass(!seen.calls.empty());
}

Judgement concurrent(const Observation& seen) {
  for (const CallSeen& call : seen.calls)
    if (auto found = judging::unwritten(call)) {
      found->reason = Reason::concurrent;
      return *found;
    }
  if (auto found = judging::any_mismatch(seen, Reason::concurrent)) {
    found->text = "two calls on two streams disturb each other: " + found->text;
    return *found;
  }
  return pass(judging::informative(seen));
}

const RuleRow rows[] = {
    RuleRow{{.id = "stream.ordered",
             .sentence = "Inputs produced late on the given stream are seen; outputs are complete when the stream says so.",
             .how = "inputs written on the call's stream behind a hold; outputs read at the stream's end and again at "
                    "the device's",
             .drives = {Drive::late_producer},
             .judge = ordered}},
    RuleRow{{.id = "stream.no_host_sync",
             .sentence = "The call returns while its stream is blocked.",
             .how = "the call is made while the program holds its stream",
             .drives = {Drive::held_stream},
             .kinds = {Kind::block, Kind::collective, Kind::op},
             .needs_flags = ASSAY_GRAPH_SAFE,
             .judge = no_host_sync}},
    RuleRow{{.id = "stream.concurrent",
             .sentence = "Two streams, two sets of buffers, overlapped: both are right.",
             .how = "two held streams released together, two calls on each",
             .drives = {Drive::two_streams},
             .kinds = {Kind::op, Kind::block},
             .excused_by_flags = ASSAY_SERIAL,
             .judge = concurrent}},
};

}  // namespace
}  // namespace assay
