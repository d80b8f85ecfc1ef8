// harness/result/waivers.hpp: failures that somebody answers for, until a day: read from a TOML file, applied to rule
// lines.
//
// Promises: a waiver names one rule, slot, variant and reason; what fails for another reason stays FAIL. A waived
// failure is WAIVED, a pass that is waived UNEXPECTED_PASS, and a failure whose waiver's day is over stays FAIL and
// says so. A malformed file is refused with one sentence that names line and field. Not promised: that the rule or slot
// exists (check.cc asks); NO_DECISION and VACUOUS are nobody's to waive. Who calls it: conformance (check --waivers
// FILE).
//
//   [[waiver]]
//   rule = "number.bound"
//   slot = "norm.rmsnorm"
//   variant = "rows"
//   reason = "bound"
//   owner = "kernels@example.org"
//   tracker = "https://tracker.example.org/1234"
//   expires = 2026-12-31        # the last day
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "harness/result/records.hpp"

namespace assay {

class WaiverError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Waiver {
  std::string rule, slot, variant, owner, tracker;
  Reason reason = Reason::none;
  std::string expires;  // "2026-12-31": the last day on which it holds
  int line = 0;
};

class Waivers {
 public:
  Waivers() = default;
  // Throws WaiverError. `today`: "2026-11-29", UTC.
  static Waivers read(const std::string& path, const std::string& today);
  static Waivers parse(std::string_view text, const std::string& name, const std::string& today);

  void apply(RuleRecord&) const;  // a FAIL, before it is written
  // After the last rule line: one line for each waived rule that holds wherever it was judged.
  [[nodiscard]] std::vector<RuleRecord> unexpected(const RunResults&) const;
  [[nodiscard]] const std::vector<Waiver>& all() const noexcept { return waivers_; }
  // Those that no line is about, as sentences: removed code, a misspelt variant, a filter.
  [[nodiscard]] std::vector<std::string> unused(const RunResults&) const;

 private:
  std::vector<Waiver> waivers_;
  std::string name_, today_;
};

}  // namespace assay
