#include "reports/table.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

#include "harness/result/forged_test.hpp"
#include "reports/lines.hpp"

namespace assay {
namespace {

std::string without_colour(const std::string& text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b') {
      i = text.find('m', i);
    } else {
      plain += text[i];
    }
  }
  return plain;
}

RunResults golden(const char* name) {
  return read_results((std::filesystem::path(__FILE__).parent_path() / "../fixtures" / name).string());
}

RunResults ended(const std::vector<RuleRecord>& rules) {
  RunResults results;
  results.has_run = results.has_end = true;
  results.run = forged_run();
  results.rules = rules;
  results.end = end_for(results);
  return results;
}

std::string row_of(const std::string& text, const std::string& name) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(name)) continue;
    std::string cells;
    for (const char c : line.substr(name.size())) {
      if (c != ' ' || cells.empty() || cells.back() != '|') cells += c == ' ' ? '|' : c;
    }
    return cells;
  }
  return "no such row";
}

constexpr const char* kFailing = R"(assay 0.1.0: mykernels 1.2 (./libmykernels.so), tier quick, seed 0, trusting
  host: host model

  write     input   number    relation  graph           stream
norm.rmsnorm rows host
  FAIL 1/3  PASS 2  FAIL 1/3  PASS 1    PASS 2          NO_DECISION
activation.silu_and_mul plain host
  PASS 3    PASS 2  PASS 3    VACUOUS   NUMERICAL_PASS  PASS 2

  warning  number.bound, norm.rmsnorm rows host bf16: accumulates in 16 bits on rows over 4096
  NO_DECISION (killed, infrastructure)  stream.concurrent, norm.rmsnorm rows host bf16: a worker was
  killed from outside
  VACUOUS  relation.split, activation.silu_and_mul plain host fp32: no informative case was drawn
  NUMERICAL_PASS (no_graph_proof)  graph.declared, activation.silu_and_mul plain host fp32: the
  variant does not declare GRAPH_SAFE
  graph results on host come from the host model: no proof for a GPU

288 distinct cases (4 outside the declared domain), 5 trials, 4.2 s
FAIL (exit 1): 2 rules failed: write.every_cell, number.reference
)";

constexpr const char* kPassing = R"(assay 0.1.0: mykernels 1.2 (./libmykernels.so), tier quick, seed 0, trusting
  host: host model
  cuda: NVIDIA H200, driver 580.159

                                    write   input   number  relation  graph   stream
activation.silu_and_mul plain host  PASS 3  PASS 2  PASS 3  PASS 2    PASS 2  PASS 2
activation.silu_and_mul plain cuda  PASS 3  PASS 2  PASS 3  PASS 2    PASS 2  PASS 2

  graph results on host come from the host model: no proof for a GPU

192 distinct cases, 2 trials, 2.0 s
PASS (exit 0)
)";

TEST(Table, OfAFailingRun) { EXPECT_EQ(table(golden("results_golden.jsonl"), false), kFailing); }

TEST(Table, OfAPassingRun) { EXPECT_EQ(table(golden("results_golden_pass.jsonl"), false), kPassing); }

TEST(Table, ColourAddsEscapesOnly) {
  for (const char* name : {"results_golden.jsonl", "results_golden_pass.jsonl"}) {
    const std::string coloured = table(golden(name), true);
    EXPECT_NE(coloured.find("\x1b[32mPASS"), std::string::npos);
    EXPECT_EQ(without_colour(coloured), table(golden(name), false));
  }
}

TEST(Table, ARuleCountsOnceWithItsWorstVerdictOverTheDtypes) {
  using enum Verdict;
  const std::string text = table(
      ended({forged_rule("write.a", pass, "fp16"), forged_rule("write.a", fail, "bf16"), forged_rule("write.b", pass),
             forged_rule("write.c", not_applicable), forged_rule("input.a", not_applicable, "fp16"),
             forged_rule("input.a", pass, "bf16"), forged_rule("number.a", not_applicable),
             forged_rule("relation.a", pass), forged_rule("relation.b", no_decision),
             forged_rule("relation.c", vacuous), forged_rule("graph.a", waived)}),
      false);
  EXPECT_EQ(row_of(text, "norm.rmsnorm rows host"), "|FAIL|1/2|PASS|1|N/A|NO_DECISION|WAIVED|-") << text;
}

TEST(Table, AFailureOfAKilledRunIsSeenWithoutItsRuleLine) {
  RunResults results = ended({});
  results.has_end = false;
  results.failures = {forged_failure("number.reference")};
  const std::string text = table(results, false);
  EXPECT_EQ(row_of(text, "norm.rmsnorm rows host"), "|-|-|FAIL|1/1|-|-|-") << text;
  EXPECT_NE(text.find("NO_DECISION (exit 3): the run did not end"), std::string::npos);
}

TEST(Table, AnEmptyFileIsNoDecision) { EXPECT_EQ(table({}, false), "NO_DECISION (exit 3): the results hold no run\n"); }

TEST(Table, GroupsBeyondTheSixAreNotHidden) {
  const std::string text = table(ended({forged_rule("prepare.once", Verdict::fail)}), false);
  EXPECT_EQ(row_of(text, "norm.rmsnorm rows host"), "|-|-|-|-|-|-|FAIL|1/1") << text;
}

TEST(Table, FitsAHundredColumnsWhateverTheNames) {
  holds("the table fits", 200, [] {
    std::vector<RuleRecord> rules;
    for (const char* group : {"write", "input", "number", "relation", "graph", "stream", "collective", "prepare"}) {
      RuleRecord rule = forged_rule(std::string(group) + ".rule", static_cast<Verdict>(*rc::gen::inRange(0, 8)));
      rule.subject.slot = "attention.msa_prefill_block_score";
      rule.subject.variant = *rc::gen::arbitrary<std::string>() + std::string(*rc::gen::inRange(0, 120), 'v');
      rule.text = *rc::gen::arbitrary<std::string>();
      rules.push_back(rule);
    }
    std::istringstream lines(table(ended(rules), false));
    for (std::string line; std::getline(lines, line);) {
      RC_ASSERT(columns_of(line) <= report_columns);
      RC_ASSERT(printable(line) == line);
    }
  });
}

}  // namespace
}  // namespace assay
