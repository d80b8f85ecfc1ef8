#include "reports/junit.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "harness/result/forged_test.hpp"
#include "harness/result/text.hpp"

namespace assay {
namespace {

std::size_t times(const std::string& text, const std::string& word) {
  std::size_t count = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

RunResults ended(const std::vector<RuleRecord>& rules, const std::vector<FailureRecord>& failures = {}) {
  RunResults results;
  results.has_run = results.has_end = true;
  results.run = forged_run();
  results.rules = rules;
  results.failures = failures;
  results.end = end_for(results);
  return results;
}

RunResults golden(const char* name) {
  return read_results((std::filesystem::path(__FILE__).parent_path() / "../fixtures" / name).string());
}

bool has_xmllint() { return std::system("command -v xmllint >/dev/null 2>&1") == 0; }

bool xmllint_accepts(const std::string& xml) {
  const auto path = std::filesystem::temp_directory_path() / ("assay_junit_" + std::to_string(::getpid()) + ".xml");
  std::ofstream(path, std::ios::binary) << xml;
  const int status = std::system(("xmllint --noout " + path.string()).c_str());
  std::filesystem::remove(path);
  return status == 0;
}

TEST(Junit, EachVerdictBecomesItsElement) {
  RuleRecord skipped = forged_rule("a.skipped", Verdict::not_applicable);
  skipped.text = "the variant does not declare DETERMINISTIC";
  RuleRecord numerical = forged_rule("a.numerical", Verdict::numerical_pass);
  numerical.reason = Reason::no_graph_proof;
  const std::string xml =
      junit_xml(ended({forged_rule("a.pass", Verdict::pass), forged_rule("a.fail", Verdict::fail),
                       forged_rule("a.vacuous", Verdict::vacuous), forged_rule("a.undecided", Verdict::no_decision),
                       skipped, forged_rule("a.waived", Verdict::waived), numerical}));
  EXPECT_NE(xml.find("<testsuite name=\"norm.rmsnorm host\" tests=\"7\" failures=\"1\" errors=\"2\" skipped=\"2\""),
            std::string::npos)
      << xml;
  EXPECT_NE(xml.find("<testcase classname=\"norm.rmsnorm\" name=\"a.pass [rows/fp16]\"/>"), std::string::npos);
  EXPECT_EQ(times(xml, "<failure "), 1U);
  EXPECT_EQ(times(xml, "<error "), 2U);
  EXPECT_NE(xml.find("<skipped message=\"NOT_APPLICABLE: the variant does not declare DETERMINISTIC\"/>"),
            std::string::npos);
  EXPECT_EQ(times(xml, "attribution: infrastructure"), 2U);
  EXPECT_NE(xml.find("<system-out>NUMERICAL_PASS (no_graph_proof)\n</system-out>"), std::string::npos);
}

TEST(Junit, AFailureCarriesReasonTextReplayAndTrial) {
  const std::string xml =
      junit_xml(ended({forged_rule("number.reference", Verdict::fail)}, {forged_failure("number.reference")}));
  for (const char* part :
       {"type=\"mismatch\"", "message=\"FAIL (mismatch): 2 of 18 cells of out are wrong\"",
        "replay: assay replay out/trials/norm.rmsnorm-1.json --library ./libmykernels.so",
        "trial: eager: hidden=9 rows=2 fp16", "&quot;drive&quot;:&quot;eager&quot;", "where: tail", "attribution: candidate"}) {
    EXPECT_NE(xml.find(part), std::string::npos) << part;
  }
}

TEST(Junit, AMissingEndLineIsAnErrorEvenWhereAllPassed) {
  RunResults results = ended({forged_rule("a.pass", Verdict::pass)});
  EXPECT_EQ(times(junit_xml(results), "<error "), 0U);
  results.has_end = false;
  const std::string xml = junit_xml(results);
  EXPECT_NE(xml.find("name=\"run\">\n      <error message=\"NO_DECISION: the run did not end"), std::string::npos)
      << xml;
  EXPECT_NE(xml.find("errors=\"1\""), std::string::npos);
}

TEST(Junit, AFailureOfAKilledRunHasACaseWithoutItsRuleLine) {
  RunResults results = ended({}, {forged_failure("number.reference"), forged_failure("number.reference")});
  results.has_end = false;
  const std::string xml = junit_xml(results);
  EXPECT_EQ(times(xml, "name=\"number.reference [rows/fp16]\""), 1U);
  EXPECT_EQ(times(xml, "<failure "), 1U);
}

TEST(Junit, DevicesHaveSuitesOfTheirOwn) {
  const std::string xml = junit_xml(golden("results_golden_pass.jsonl"));
  EXPECT_NE(xml.find("<testsuite name=\"activation.silu_and_mul host\" tests=\"14\""), std::string::npos);
  EXPECT_NE(xml.find("<testsuite name=\"activation.silu_and_mul cuda\" tests=\"14\""), std::string::npos);
  EXPECT_EQ(times(xml, "<failure ") + times(xml, "<error "), 0U);
}

TEST(Junit, AnyResultsAreRedExactlyWhereTheRunIsNoPass) {
  holds("a failure or an error where conclude() is not PASS", 1000, [] {
    RunResults results;
    results.has_run = true;
    if (*rc::gen::arbitrary<bool>()) results.run.gate = forged_gate();
    results.has_end = *rc::gen::weightedElement<bool>({{5, true}, {1, false}});
    for (int i = 0; i < *rc::gen::inRange(0, 5); ++i) {
      RuleRecord rule = forged_rule("a.rule" + std::to_string(i), static_cast<Verdict>(*rc::gen::inRange(0, 8)));
      rule.judged = *rc::gen::inRange(0, 2);
      rule.evidence = 0;
      results.rules.push_back(rule);
    }
    for (int i = 0; i < *rc::gen::inRange(0, 4); ++i) {
      const auto rule = "a.rule" + std::to_string(*rc::gen::inRange(0, 6));
      results.failures.push_back(
          forged_failure(rule, static_cast<Reason>(*rc::gen::inRange(0, static_cast<int>(Reason::interrupted) + 1))));
    }
    const EndRecord proven = end_for(results);
    results.end = *rc::gen::element(proven, EndRecord{"PASS", 0, 0, ""}, EndRecord{"NO_DECISION", 3, 0, "stopped"});
    const std::string xml = junit_xml(results);
    const EndRecord end = conclude(results);
    RC_ASSERT((times(xml, "<failure ") + times(xml, "<error ") > 0) == (end.verdict != "PASS"));
    RC_ASSERT((times(xml, "<failure ") > 0) == (proven.verdict == "FAIL"));
  });
}

TEST(Junit, HostileTextStaysTextAndEveryCharacterIsLegal) {
  RunResults results = ended({}, {forged_failure("number.reference")});
  results.failures[0].text = "</failure>]]>&amp;\"'\x1b[31m\x00\x7f\uFFFF\u0085\xFF<!--";
  results.failures[0].text += std::string(1, '\0') + "tail";
  results.failures[0].subject.variant = "a\" onload=\"x\n<b>";
  const std::string xml = junit_xml(results);
  EXPECT_EQ(times(xml, "</failure>"), 1U);
  EXPECT_EQ(times(xml, "<b>"), 0U);
  EXPECT_NE(xml.find("[31mtail"), std::string::npos);
  for (const char c : xml) EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20);
  EXPECT_EQ(repaired(xml), xml);
  EXPECT_EQ(xml.find("\uFFFF"), std::string::npos);
}

TEST(Junit, XmllintAcceptsGoldenAndHostileRuns) {
  if (!has_xmllint()) GTEST_SKIP() << "xmllint is not installed";
  EXPECT_FALSE(xmllint_accepts("<a>")) << "xmllint accepts anything";
  EXPECT_TRUE(xmllint_accepts(junit_xml({})));
  EXPECT_TRUE(xmllint_accepts(junit_xml(golden("results_golden.jsonl"))));
  EXPECT_TRUE(xmllint_accepts(junit_xml(golden("results_golden_pass.jsonl"))));
  // Every byte, alone and as the start of each longer sequence, in text, attribute and trial.
  RunResults results = ended({});
  for (int lead = 0; lead < 256; ++lead) {
    FailureRecord f = forged_failure("rule" + std::to_string(lead));
    f.text = {static_cast<char>(lead), '\x80', '\xBF', '\xBF', '<', static_cast<char>(lead), '&'};
    f.subject.variant = f.replay = f.text;
    f.trial["variant"] = f.text;
    results.failures.push_back(f);
  }
  EXPECT_TRUE(xmllint_accepts(junit_xml(results)));
}

TEST(Junit, ALongTrialIsNamedNotQuoted) {
  RunResults results = ended({}, {forged_failure("a.b")});
  results.failures[0].trial["history"] = std::string(100000, 'x');
  EXPECT_LT(junit_xml(results).size(), 8000U);
}

}  // namespace
}  // namespace assay
