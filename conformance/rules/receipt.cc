// receipt.*: what the ranks of a launch say that they ran, and whether it was this candidate's.
#include "conformance/rules/judging.hpp"
#include "harness/receipt/coverage.hpp"

namespace assay {
namespace {

Judgement undecided(const std::string& why) {
  Judgement j;
  j.verdict = Verdict::no_decision;
  j.reason = Reason::unobserved;
  j.text = why;
  j.evidence = false;
  return j;
}

bool writes_nothing(const Observation& seen) {
  for (const CallSeen& call : seen.calls)
    for (const OutputSeen& out : call.outputs)
      if (out.actual.size() > 0) return false;
  return true;
}

Judgement fired(const Observation& seen) {
  if (!seen.receipts) return undecided("no receipt could be received");
  CoverageQuestion question;
  question.slot = seen.slot->id;
  question.variant = seen.variant.id;
  question.ranks = seen.receipts->world;
  question.graph_claimed = seen.captured;
  question.refused = seen.receipts->refused;
  const ExecutionFact fact = execution_fact(question, seen.receipts->receipts);
  if (fact.state == ExecutionState::complete) return pass();
  if (writes_nothing(seen)) return not_applicable();  // such a call may enqueue nothing
  if (!std::holds_alternative<CandidateFailed>(fact.decision)) return undecided(why_of(fact.decision));
  return fail(fact.state == ExecutionState::silent ? Reason::never_executed : Reason::fallback, why_of(fact.decision),
              "the launch");
}

Judgement bound(const Observation& seen) {
  if (!seen.receipts) return undecided("no receipt could be received");
  // Evidence of another candidate is none of this one's (routing-and-targets.md 10.2): somebody built it anew
  // meanwhile.
  if (seen.receipts->another_file) return undecided("the library's file was replaced during the run");
  if (!seen.receipts->refused.empty()) return fail(Reason::unbound, seen.receipts->refused.front(), "the launch");
  if (seen.receipts->receipts.empty()) return undecided("no receipt could be received");
  for (const Receipt& r : seen.receipts->receipts)
    if (r.call.slot == seen.slot->id && r.call.variant == seen.variant.id) return pass();
  return pass(false);  // membership alone binds no call
}

const RuleRow rows[] = {
    RuleRow{{.id = "receipt.fired",
             .sentence = "Every rank loaded the library, called the variant and completed it; none fell back.",
             .how =
                 "receipts of the worker's trusted half, once a launch: active, fired, completed, behind an event that "
                 "follows the call's last operation; replayed after a graph's second replay",
             .drives = {Drive::eager, Drive::capture_replay},
             .across_ranks = true,
             .judge = fired}},
    RuleRow{
        {.id = "receipt.bound",
         .sentence = "Receipts are of this launch, library file, contract, variant, call and rank; others are refused.",
         .how = "a nonce and a key drawn for each launch, sequence numbers, digests that the judge computed itself",
         .drives = {Drive::eager, Drive::capture_replay},
         .across_ranks = true,
         .judge = bound}},
};

}  // namespace
}  // namespace assay
