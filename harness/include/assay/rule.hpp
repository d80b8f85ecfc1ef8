// assay/rule.hpp: a rule is a pure function from what a drive saw to a judgement.
//
// Promises: an id that never changes (rules.md), one sentence, the drives it reads. A RuleRow registers itself; every
// registered rule applies to every slot whose kind it names.
// Who uses it: conformance/rules/*.cc, rule authors.
//
//   static const RuleRow row{{.id = "write.no_return", .sentence = "...", .drives = {Drive::eager},
//                             .judge = [](const Observation& seen) { return pass(); }}};
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "assay/slot.hpp"
#include "harness/drive/observation.hpp"
#include "harness/result/verdict.hpp"

namespace assay {

struct WorstCell {
  std::string where;             // "out(3, 5)"
  double actual = 0, expected = 0, bound = 0;
};

struct Judgement {
  Verdict verdict = Verdict::pass;
  Reason reason = Reason::none;
  std::string text;              // one sentence: what was wrong
  std::string label;             // of the call it was wrong in
  std::string pattern;           // where the wrong cells lie
  std::string bound;             // the bound that was broken, and why it is that
  std::vector<WorstCell> worst;
  std::string warning;           // worth a line, no failure
  bool evidence = true;          // counts against VACUOUS
  bool ended_trial = false;      // the worker's end or a failed step, the same for every rule that reads the drive
};

[[nodiscard]] inline Judgement pass(bool evidence = true) {
  Judgement j;
  j.evidence = evidence;
  return j;
}
[[nodiscard]] inline Judgement not_applicable() {
  Judgement j;
  j.verdict = Verdict::not_applicable;
  j.evidence = false;
  return j;
}
[[nodiscard]] inline Judgement fail(Reason reason, std::string text, std::string label = {}) {
  Judgement j;
  j.verdict = Verdict::fail;
  j.reason = reason;
  j.text = std::move(text);
  j.label = std::move(label);
  return j;
}

struct RuleSpec {
  std::string id;
  std::string sentence;              // what holds
  std::string how;                   // how it is made visible
  std::vector<Drive> drives;         // that it reads
  std::vector<Kind> kinds = {Kind::op, Kind::block, Kind::collective};
  std::vector<DeviceType> devices = {DeviceType::host, DeviceType::cuda};
  std::uint32_t needs_flags = 0;     // ASSAY_GRAPH_SAFE, ...: NOT_APPLICABLE without
  std::uint32_t excused_by_flags = 0;
  bool needs_prepare = false;          // only of slots with weights
  bool across_ranks = false;           // judges all ranks of a collective at once; else each rank's view by itself
  bool on_padded_outputs = false;      // also asked where outputs that are contiguous by contract have padding
  // Called for every observation without a candidate's fault and without a failed step.
  std::function<Judgement(const Observation&)> judge = {};
  // Called instead of failed_step() where a step was not ok (refused capture, held stream, entry's status).
  std::function<Judgement(const Observation&)> on_failed_step = {};
};

// A step that failed, as a judgement of any rule that reads the drive: the candidate's failure, or nobody's.
[[nodiscard]] Judgement failed_step(const Observation&);

class RuleRow {
 public:
  explicit RuleRow(RuleSpec);
};

[[nodiscard]] const std::vector<const RuleSpec*>& rule_catalogue();   // by id
[[nodiscard]] const RuleSpec* find_rule(std::string_view id);         // NULL if there is none
[[nodiscard]] bool applies(const RuleSpec&, const SlotSpec&, DeviceType);
// Whether a variant of these flags is asked: it declares what the rule needs and nothing that excuses it.
[[nodiscard]] bool declared_for(const RuleSpec&, std::uint32_t flags);

// The whole judgement of one observation: the candidate's faults and failed steps fail the rule that reads the drive,
// the machine's decide nothing.
[[nodiscard]] Judgement judge(const RuleSpec&, const Observation&);

}  // namespace assay
