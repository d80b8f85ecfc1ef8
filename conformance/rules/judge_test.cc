// judge() on forged observations: what it decides before any rule is asked, and which rules are asked at all.
#include <gtest/gtest.h>

#include <utility>

#include "conformance/rules/forged_test.hpp"

namespace assay {
namespace {

using namespace forged;

TEST(Judge, ACandidatesFaultFailsWhateverTheRuleAsks) {
  for (const RuleSpec* rule : rule_catalogue()) {
    Observation seen = right(rule->drives.front());
    seen.fault = Fault{Verdict::fail, Reason::timeout, Phase::entry, 3, "it hung", -1, 0};
    seen.failed_label = "call";
    const Judgement j = judge(*rule, seen);
    EXPECT_EQ(name_of(j.verdict), "FAIL") << rule->id;
    EXPECT_EQ(name_of(j.reason), "timeout") << rule->id;
    EXPECT_EQ(j.text, "it hung");
    EXPECT_EQ(j.label, "call");
    seen.fault = Fault{Verdict::no_decision, Reason::killed, Phase::entry, 3, "killed", -1, 0};
    EXPECT_EQ(name_of(judge(*rule, seen).verdict), "NO_DECISION") << rule->id;
  }
}

TEST(Judge, AFailedStepIsTheCandidatesOnlyWhereItsCodeSaysSo) {
  const std::pair<StepCode, Reason> codes[] = {
      {StepCode::entry_failed, Reason::entry_failed},      {StepCode::synchronised_held, Reason::host_sync},
      {StepCode::capture_illegal, Reason::capture_failed}, {StepCode::capture_unjoined, Reason::capture_failed},
      {StepCode::capture_empty, Reason::capture_failed},   {StepCode::capture_host_node, Reason::capture_failed},
      {StepCode::device_fault, Reason::device_fault},      {StepCode::launch_invalid, Reason::entry_failed},
      {StepCode::out_of_memory, Reason::harness},          {StepCode::unsupported, Reason::harness},
      {StepCode::infrastructure, Reason::harness},         {StepCode::not_run, Reason::harness}};
  for (const auto& [code, reason] : codes) {
    Observation seen = right(Drive::eager);
    failed(Op::call, code)(seen);
    const Judgement j = judge(*find_rule("number.reference"), seen);
    EXPECT_EQ(name_of(j.reason), name_of(reason)) << name_of(code);
    EXPECT_EQ(name_of(j.verdict), name_of(verdict_of(reason))) << name_of(code);
    EXPECT_NE(j.text.find("said so"), std::string::npos);
    EXPECT_EQ(j.label, "where");
    // Rules with words of their own for a refused call have none for what else may fail.
    if (code == StepCode::entry_failed) continue;
    for (const RuleSpec* rule : rule_catalogue())
      if (const Judgement own = judge(*rule, seen); own.verdict != Verdict::not_applicable) {
        EXPECT_EQ(name_of(own.reason), name_of(reason)) << rule->id << ", " << name_of(code);
      }
  }
}

TEST(Judge, RulesApplyByKindAndDevice) {
  RuleSpec rule;
  rule.kinds = {Kind::block};
  rule.devices = {DeviceType::cuda};
  SlotSpec block = slot();
  block.kind = Kind::block;
  EXPECT_TRUE(applies(rule, block, DeviceType::cuda));
  EXPECT_FALSE(applies(rule, block, DeviceType::host));
  EXPECT_FALSE(applies(rule, slot(), DeviceType::cuda));
  // Rules about weights are asked where there are some.
  SlotSpec bare = slot();
  bare.weights.clear();
  for (const RuleSpec* r : rule_catalogue()) {
    const bool of_weights = r->id.rfind("prepare.", 0) == 0;
    EXPECT_EQ(r->needs_prepare, of_weights) << r->id;
    if (of_weights) {
      EXPECT_TRUE(applies(*r, slot(), DeviceType::cuda)) << r->id;
    }
    if (of_weights) {
      EXPECT_FALSE(applies(*r, bare, DeviceType::cuda)) << r->id;
    }
  }
}

}  // namespace
}  // namespace assay
