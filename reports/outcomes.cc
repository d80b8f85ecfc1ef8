#include "reports/outcomes.hpp"

#include <algorithm>
#include <array>

namespace assay {

std::vector<Outcome> outcomes_of(const RunResults& results) {
  std::vector<Outcome> all;
  for (const RuleRecord& rule : results.rules)
    all.push_back({rule.subject, rule.verdict, rule.reason, !rule.warnings.empty()});
  for (const FailureRecord& failure : results.failures) {
    const bool told =
        std::ranges::any_of(results.rules, [&](const RuleRecord& rule) { return rule.subject == failure.subject; });
    if (!told) all.push_back({failure.subject, verdict_of(failure.reason), failure.reason});
  }
  return all;
}

int badness(Verdict v) noexcept {
  constexpr std::array order{Verdict::not_applicable,  Verdict::pass,    Verdict::numerical_pass, Verdict::waived,
                             Verdict::unexpected_pass, Verdict::vacuous, Verdict::no_decision,    Verdict::fail};
  return static_cast<int>(std::ranges::find(order, v) - order.begin());
}

std::string slot_name(const Subject& s) { return s.slot.empty() ? "(library)" : s.slot; }

std::string variant_name(const Subject& s) {
  std::string name = s.variant;
  if (!s.device.empty()) name += (name.empty() ? "" : " ") + s.device;
  if (s.ranks > 1) name += " x" + std::to_string(s.ranks);
  return name;
}

std::string place_name(const Subject& s) {
  const std::string variant = variant_name(s);
  return slot_name(s) + (variant.empty() ? "" : " " + variant);
}

}  // namespace assay
