#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "harness/case/json.hpp"
#include "harness/case/rapid_test.hpp"
#include "harness/result/forged_test.hpp"
#include "harness/result/records.hpp"

namespace assay {
namespace {

RunResults with_rules(const std::vector<Verdict>& verdicts) {
  RunResults results;
  results.has_run = true;
  results.run = forged_run();
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    results.rules.push_back(forged_rule("group.rule" + std::to_string(i), verdicts[i]));
  }
  return results;
}

std::string verdict_after(const std::vector<Verdict>& verdicts) {
  const EndRecord end = end_for(with_rules(verdicts));
  return end.verdict + " " + std::to_string(end.exit_code);
}

TEST(EndFor, FailOutweighsNoDecisionOutweighsPass) {
  using enum Verdict;
  EXPECT_EQ(verdict_after({pass, no_decision, vacuous, fail}), "FAIL 1");
  EXPECT_EQ(verdict_after({pass, no_decision}), "NO_DECISION 3");
  EXPECT_EQ(verdict_after({pass, vacuous}), "NO_DECISION 3");
  EXPECT_EQ(verdict_after({pass, not_applicable, waived}), "PASS 0");
  EXPECT_EQ(verdict_after({numerical_pass}), "PASS 0");
}

TEST(EndFor, NothingJudgedIsNoPass) {
  using enum Verdict;
  EXPECT_EQ(verdict_after({}), "NO_DECISION 3");
  EXPECT_EQ(verdict_after({not_applicable, not_applicable}), "NO_DECISION 3");
  EXPECT_EQ(verdict_after({waived, unexpected_pass}), "NO_DECISION 3");
}

TEST(EndFor, AnUnexpectedPassFailsAGateOnly) {
  using enum Verdict;
  RunResults results = with_rules({pass, unexpected_pass});
  EXPECT_EQ(end_for(results).verdict, "PASS");
  results.run.tier = "gate";
  EXPECT_EQ(end_for(results).verdict, "PASS") << "the tier picks cases, no more";
  results.run.gate = forged_gate();
  EXPECT_EQ(end_for(results).verdict, "FAIL");
  EXPECT_EQ(end_for(results).why, "1 rule failed: group.rule1");
}

RunResults gate_with(const std::vector<std::string>& rules) {
  RunResults results = with_rules({});
  results.run.gate = forged_gate();
  for (const std::string& rule : rules) results.rules.push_back(forged_rule(rule, Verdict::pass));
  return results;
}

TEST(EndFor, AGatePassesOnlyWhereEveryVariantRanAndItsGraphsHold) {
  EXPECT_EQ(end_for(gate_with({"write.every_cell", "receipt.fired", "graph.captures"})).verdict, "PASS");
  EXPECT_EQ(end_for(gate_with({"write.every_cell", "graph.captures"})).why,
            "no receipt says that it ran: norm.rmsnorm rows on host");
  EXPECT_EQ(end_for(gate_with({"receipt.fired"})).why, "no rule of graphs holds: norm.rmsnorm rows on host");
  RunResults silent = gate_with({"write.every_cell", "receipt.fired", "graph.captures"});
  silent.run.gate->variants.push_back({"norm.rmsnorm", "rows2", "host", "{}", true});
  EXPECT_EQ(end_for(silent).verdict, "NO_DECISION") << "a variant that has no line";
  EXPECT_EQ(end_for(silent).exit_code, 3);
  RunResults waived = gate_with({"write.every_cell", "receipt.fired", "graph.captures"});
  waived.rules[1].verdict = Verdict::waived;
  EXPECT_EQ(end_for(waived).verdict, "NO_DECISION") << "nobody can waive that it ran";
}

TEST(EndFor, ANumericalPassIsNoPassOfAGate) {
  RunResults results = gate_with({"receipt.fired", "graph.captures", "graph.declared"});
  results.rules[2].verdict = Verdict::numerical_pass;
  results.rules[2].reason = Reason::no_graph_proof;
  EXPECT_EQ(end_for(results).exit_code, 3);
  EXPECT_EQ(end_for(results).why, "1 rule decided nothing: graph.declared (no_graph_proof)");
  results.run.gate.reset();
  EXPECT_EQ(end_for(results).exit_code, 0);
}

TEST(EndFor, AGateThatLeftRulesOutFailsOrDecidesNothing) {
  RunResults results = gate_with({"receipt.fired", "graph.captures"});
  results.run.gate->rules_left_out = 40;
  EXPECT_EQ(end_for(results).why, "40 rules were left out by --rule, and a gate judges all");
  results.rules.push_back(forged_rule("number.bound", Verdict::fail));
  EXPECT_EQ(end_for(results).verdict, "FAIL");
}

TEST(EndFor, AUnitThatNoRuleJudgedIsNoPassOfAGateUnlessItsDomainExcludesIt) {
  RunResults results = gate_with({"receipt.fired", "graph.captures"});
  results.rules.push_back(forged_rule("receipt.fired", Verdict::not_applicable, "bf16"));
  results.rules.back().reason = Reason::no_case;
  EXPECT_EQ(end_for(results).why, "no rule was judged on norm.rmsnorm rows bf16");
  results.rules.back().reason = Reason::outside_domain;
  EXPECT_EQ(end_for(results).verdict, "PASS");
  results.run.gate.reset();
  results.rules.back().reason = Reason::no_case;
  EXPECT_EQ(end_for(results).verdict, "PASS");
}

TEST(EndFor, APassWithoutAJudgementDecidesNothing) {
  RunResults results = with_rules({Verdict::pass, Verdict::pass});
  results.rules[1].judged = results.rules[1].evidence = 0;
  const EndRecord end = end_for(results);
  EXPECT_EQ(end.verdict, "NO_DECISION");
  EXPECT_EQ(end.why, "1 rule decided nothing: group.rule1 (no_case)");
}

TEST(EndFor, TheSentenceNamesRulesOnceAndCountsTheRest) {
  using enum Verdict;
  RunResults results = with_rules({fail, fail, fail, fail, fail, fail});
  results.rules.push_back(forged_rule("group.rule0", fail, "bf16"));
  EXPECT_EQ(end_for(results).why, "6 rules failed: group.rule0, group.rule1, group.rule2, group.rule3 and 2 more");
}

TEST(EndFor, AFailureLineCountsWhereItsRuleLineIsMissingOrPasses) {
  RunResults results = with_rules({Verdict::pass});
  results.failures = {forged_failure("number.reference")};
  EXPECT_EQ(end_for(results).verdict, "FAIL");
  results.rules.push_back(forged_rule("number.reference", Verdict::pass));
  EXPECT_EQ(end_for(results).verdict, "FAIL");
  results.rules.back().verdict = Verdict::waived;
  EXPECT_EQ(end_for(results).verdict, "PASS");
}

TEST(EndFor, AFailureLineOfTheMachinesDecidesNothing) {
  RunResults results = with_rules({Verdict::pass});
  results.failures = {forged_failure("number.reference", Reason::killed)};
  EXPECT_EQ(end_for(results).verdict, "NO_DECISION");
  EXPECT_EQ(end_for(results).why, "1 rule decided nothing: number.reference (killed)");
}

TEST(Conclude, WithoutARunOrAnEndLineNothingIsDecided) {
  EXPECT_EQ(conclude({}).verdict, "NO_DECISION");
  RunResults results = with_rules({Verdict::pass});
  EXPECT_EQ(conclude(results).verdict, "NO_DECISION");
  EXPECT_EQ(conclude(results).exit_code, 3);
  results.rules[0].verdict = Verdict::fail;
  EXPECT_EQ(conclude(results).verdict, "NO_DECISION");
  EXPECT_EQ(conclude(results).why,
            "the run did not end: no end line after 0 trials; until then 1 rule failed: group.rule0");
}

TEST(Conclude, AnEndLineThatIsMilderThanItsRulesIsNotBelieved) {
  RunResults results = with_rules({Verdict::fail});
  results.has_end = true;
  results.end = {"PASS", 0, 2.5, ""};
  const EndRecord end = conclude(results);
  EXPECT_EQ(end.verdict, "FAIL");
  EXPECT_EQ(end.exit_code, 1);
  EXPECT_EQ(end.seconds, 2.5);
  EXPECT_EQ(end.why, "the end line says PASS, but 1 rule failed: group.rule0");
}

TEST(Conclude, AnEndLineMayBeWorseThanItsRules) {
  RunResults results = with_rules({Verdict::pass});
  results.has_end = true;
  results.end = {"NO_DECISION", 4, 2.5, "interrupted"};
  EXPECT_EQ(conclude(results).exit_code, 4);
  EXPECT_EQ(conclude(results).why, "interrupted");
}

class File {
 public:
  explicit File(const std::string& text)
      : path_((std::filesystem::temp_directory_path() / ("assay_results_" + std::to_string(::getpid()))).string()) {
    std::ofstream(path_, std::ios::binary) << text;
  }
  ~File() { std::filesystem::remove(path_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string fixture(const char* name) {
  const auto path = std::filesystem::path(__FILE__).parent_path() / "../../fixtures" / name;
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(ReadResults, TheGoldenRunsConcludeAsTheySay) {
  EXPECT_EQ(conclude(read_results(File(fixture("results_golden.jsonl")).path())).verdict, "FAIL");
  EXPECT_EQ(conclude(read_results(File(fixture("results_golden_pass.jsonl")).path())).verdict, "PASS");
}

TEST(ReadResults, AnyPrefixIsReadableAndNeverPassesWithoutItsEndLine) {
  for (const char* name : {"results_golden.jsonl", "results_golden_pass.jsonl"}) {
    const std::string whole = fixture(name);
    ASSERT_GT(whole.size(), 1000U);
    ASSERT_EQ(whole.back(), '\n');
    holds("a prefix is readable", 400, [&] {
      const auto length = *rc::gen::inRange<std::size_t>(0, whole.size() - 1);  // without the end line's last brace
      const RunResults results = read_results(File(whole.substr(0, length)).path());
      RC_ASSERT(!results.has_end);
      RC_ASSERT(conclude(results).verdict == "NO_DECISION");
      RC_ASSERT(conclude(results).exit_code == 3);
    });
    // Only the newline is missing: the end line is whole.
    EXPECT_TRUE(read_results(File(whole.substr(0, whole.size() - 1)).path()).has_end);
  }
}

TEST(ReadResults, ABadLineBeforeTheLastIsRefusedWithItsNumber) {
  const std::string run = canonical(to_json(forged_run())) + "\n";
  const File file(run + "{\"kind\":\"ru\n" + canonical(to_json(EndRecord{"PASS", 0, 1, ""})) + "\n");
  try {
    (void)read_results(file.path());
    FAIL() << "accepted";
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find(", line 2: "), std::string::npos) << error.what();
  }
}

TEST(ReadResults, AWholeLastLineThatIsNotOfTheSchemaIsRefusedWithOrWithoutItsNewline) {
  const std::string run = canonical(to_json(forged_run())) + "\n";
  EXPECT_THROW((void)read_results(File(run + "{\"kind\":\"x\"}").path()), std::invalid_argument);
  EXPECT_THROW((void)read_results(File(run + "{\"kind\":\"x\"}\n").path()), std::invalid_argument);
  EXPECT_THROW((void)read_results(File(run + "\n").path()), std::invalid_argument);
}

TEST(ReadResults, AFileThatIsNotThereSaysSo) {
  EXPECT_THROW((void)read_results("/nonexistent/results.jsonl"), std::runtime_error);
  EXPECT_THROW((void)read_results("/"), std::runtime_error);
}

}  // namespace
}  // namespace assay
