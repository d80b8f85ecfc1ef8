// parts.hpp: several judges may share a unit's cases; the results have one line each for what its parts said.
//
// Promises: a rule line is held until every part has its own, then merged: any FAIL, else what decided nothing, else a
// pass of all that were judged; counts add up, and VACUOUS stands only where no part had evidence. Of several failures
// of a rule one is kept: a confirmed one before a flaky one, a minimal one before others. Cases add up.
// Not promised: an order among lines of different subjects. Trial lines pass through at once.
// Who calls it: check.cc.
//
//   for (const std::string& ready : merger.take(line)) writer.raw_line(ready);
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "harness/result/records.hpp"

namespace assay {

// One line by itself, whatever came before it: a part's, or one that is about to change.
[[nodiscard]] RunResults read_line(std::string_view line);

class PartMerger {
 public:
  explicit PartMerger(int parts) : parts_(parts) {}

  // Lines that can be written now. Throws std::invalid_argument as add_line does.
  [[nodiscard]] std::vector<std::string> take(std::string_view line);
  // What is still held, as it came: of a run that did not get to its end.
  [[nodiscard]] std::vector<std::string> rest();

 private:
  struct Held {
    std::vector<RuleRecord> rules;
    std::vector<FailureRecord> failures;
    std::vector<CasesRecord> cases;
  };
  int parts_;
  std::map<std::string, Held> held_;  // by subject
};

// What the parts of one unit, all of them, say of one rule.
[[nodiscard]] RuleRecord merged(const std::vector<RuleRecord>& parts);

}  // namespace assay
