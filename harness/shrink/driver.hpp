// driver.hpp: from a failing trial to the smallest trial with the same failure.
//
// Promises: only trials with the same reason as the first failure are accepted; each distinct trial is evaluated once
// (RapidCheck evaluates each accepted shrink twice); stays within its budget and then says "smallest found, not
// minimal"; the result is confirmed in a fresh worker: alone, else with its history, delta-debugged, else it is
// reported as flaky, k of n. Knows no worker and no clock of its own: both are passed in.
// Who calls it: conformance/examiner_failure.cc.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "assay/rule.hpp"
#include "harness/case/case.hpp"

namespace assay {

struct ShrinkBudget {
  int runs = 200;
  double seconds = 10;
};

struct ShrinkOutcome {
  Trial trial;
  Judgement judgement;        // of the trial's last failing run
  int runs = 0;
  bool minimal = true;
  std::string confirmed;      // "fresh worker", "with its history of 1", "flaky: 2 of 5"
};

class ShrinkDriver {
 public:
  enum class Worker : std::uint8_t { reused, fresh };
  using Evaluate = std::function<Judgement(const Trial&, Worker)>;
  using Seconds = std::function<double()>;

  ShrinkDriver(const SlotSpec& slot, Evaluate evaluate, Seconds now, ShrinkBudget budget = {});

  // `history`: what ran in the failing worker before. `known`: shrunk trials of this slot to try first.
  [[nodiscard]] ShrinkOutcome shrink(const Trial& failing, const Judgement& first,
                                     const std::vector<TrialPart>& history, const std::vector<Trial>& known = {});

 private:
  struct Search;
  const SlotSpec& slot_;
  Evaluate evaluate_;
  Seconds now_;
  ShrinkBudget budget_;
};

}  // namespace assay
