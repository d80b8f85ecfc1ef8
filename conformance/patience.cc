#include "conformance/patience.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include "harness/drive/drives.hpp"
#include "harness/worker/oom_kills.hpp"

namespace assay {
namespace {

constexpr int kWaryTrials = 200;
constexpr std::chrono::milliseconds kMoment(20);

// Of several ranks, any may be late for a reason that is the machine's: a hang is the candidate's where two fresh sets
// of workers repeat it (spec/README.md, blame in distributed runs).
void reproduce_hang(Bench& bench, const Trial& trial, Tier tier, Observation& seen) {
  for (int again = 0; again < 2; ++again) {
    bench.retire_worker();
    const Observation repeated = observe(bench, trial, tier);
    if (repeated.fault && repeated.fault->reason == Reason::timeout) continue;
    seen.fault->verdict = Verdict::no_decision;
    seen.fault->reason = Reason::flaky;
    seen.fault->text += "; a fresh set of workers did not repeat it";
    return;
  }
}

// An earlier call may be what ends an idle worker. Where one ended so, trials wait a moment for their own worker's end.
Observation observe_and_wait(Bench& bench, const Trial& trial, Tier tier, bool wait) {
  Observation seen = observe(bench, trial, tier);
  if (!wait || seen.fault) return seen;
  std::this_thread::sleep_for(kMoment);
  bench.begin_trial(seen);
  bench.label("a moment after the call");
  bench.script().simple(Op::sync, 0);
  bench.flush();
  return seen;
}

}  // namespace

Observation observe_patiently(Bench& bench, const Trial& trial, Tier tier, int& wary) {
  Observation seen = observe_and_wait(bench, trial, tier, wary > 0);
  wary = std::max(0, wary - 1);
  // While a failure is made smaller it has been reproduced already.
  if (seen.fault && seen.fault->reason == Reason::timeout && !seen.others.empty() && !bench.shrinking())
    reproduce_hang(bench, trial, tier, seen);
  const std::optional<std::uint64_t> oom_kills_before = oom_kills();
  for (int again = 0; again < 2 && seen.fault && seen.fault->verdict == Verdict::no_decision; ++again) {
    const Reason before = seen.fault->reason;
    if (before == Reason::harness) wary = kWaryTrials;
    bench.retire_worker();
    seen = observe_and_wait(bench, trial, tier, wary > 0);
    if (again == 1 && before == Reason::harness && seen.fault && seen.fault->reason == Reason::harness) {
      seen.fault->verdict = Verdict::fail;
      seen.fault->reason = Reason::corrupts_worker;
      seen.fault->text = "trusted code of the worker dies after this call, in two fresh workers: " + seen.fault->text;
    }
    // A candidate can kill its own process: what the machine kills, it kills for want of memory, and counts.
    if (again == 1 && before == Reason::killed && seen.fault && seen.fault->reason == Reason::killed &&
        oom_kills_before && oom_kills() == oom_kills_before) {
      seen.fault->verdict = Verdict::fail;
      seen.fault->reason = Reason::exit;
      seen.fault->text = "the process is killed in this call, in two fresh workers, while the machine wants for no memory";
    }
  }
  return seen;
}

}  // namespace assay
