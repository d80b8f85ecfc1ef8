// reports/outcomes.hpp: what each rule of each subject came to, for the reports that lay rules out in a grid.
//
// Promises: rule lines in the order of the file, then the failures that have none, as of a run that was killed.
// Who calls it: table, page_model, changes.
//
//   for (const Outcome& o : outcomes_of(results)) enter(o.subject, o.verdict);
#pragma once

#include <string>
#include <vector>

#include "harness/result/records.hpp"

namespace assay {

struct Outcome {
  Subject subject;
  Verdict verdict = Verdict::pass;
  Reason reason = Reason::none;
  bool warned = false;
};
[[nodiscard]] std::vector<Outcome> outcomes_of(const RunResults&);

// Greater is worse: one rule has one verdict over its dtypes.
[[nodiscard]] int badness(Verdict) noexcept;

// "(library)" for none; then "variant device xRANKS". Not escaped.
[[nodiscard]] std::string slot_name(const Subject&);
[[nodiscard]] std::string variant_name(const Subject&);
// Both.
[[nodiscard]] std::string place_name(const Subject&);

}  // namespace assay
