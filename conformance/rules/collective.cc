// collective.*: what the ranks of a group owe together.
#include "conformance/rules/judging.hpp"

namespace assay {
namespace {

// A group of one is legal, and no evidence for a larger one.
Judgement reference(const Observation& seen) {
  if (seen.others.empty()) return not_applicable();
  if (auto found = judging::any_mismatch(seen)) return *found;
  Judgement good = pass(judging::informative(seen));
  for (const Observation& other : seen.others) {
    if (auto found = judging::any_mismatch(other)) {
      found->label += ", rank " + std::to_string(other.rank);
      return *found;
    }
    for (std::size_t k = 0; k < std::min(seen.calls.size(), other.calls.size()); ++k)
      for (std::size_t i = 0; i < seen.calls[k].outputs.size(); ++i) {
        const OutputSeen &mine = seen.calls[k].outputs[i], &theirs = other.calls[k].outputs[i];
        if (const auto text = judging::bitwise_difference(mine.actual, theirs.actual); !text.empty())
          good.warning = "ranks 0 and " + std::to_string(other.rank) + " differ in " + mine.spec->name + ": " + text;
      }
  }
  return good;
}

const RuleRow rows[] = {
    RuleRow{{.id = "collective.reference",
             .sentence = "Every output on every rank agrees with the cross-rank float64 reference.",
             .how = "partials of each rank's own, the sum computed by the judge from all of them; every rank compared",
             .drives = {Drive::eager},
             .kinds = {Kind::collective},
             .across_ranks = true,
             .judge = reference}},
};

}  // namespace
}  // namespace assay
