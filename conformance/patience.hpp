// patience.hpp: one trial, again where it was the machine that may have failed it.
//
// Promises: infrastructure gets second chances in fresh workers; trusted code that dies twice was corrupted by the
// candidate; of several ranks a hang is the candidate's where two fresh sets repeat it.
// Who calls it: examiner_trials.cc, examiner_failure.cc; commands.cc, to replay a trial.
#pragma once

#include "harness/drive/bench.hpp"
#include "harness/drive/observation.hpp"

namespace assay {

// `wary`: how many trials to come wait a moment for their worker's end; counts down, and up where trusted code died.
[[nodiscard]] Observation observe_patiently(Bench&, const Trial&, Tier, int& wary);

}  // namespace assay
