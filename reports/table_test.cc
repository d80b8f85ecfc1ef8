#include "reports/table.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

#include "harness/case/rapid_test.hpp"
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

constexpr const char* kFailing = R"(@FAILING@)";

constexpr const char* kPassing = R"(@PASSING@)";

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
