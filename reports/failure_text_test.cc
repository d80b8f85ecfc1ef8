#include "reports/failure_text.hpp"

#include <gtest/gtest.h>

#include <algorithm>
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

RunResults failing(const std::vector<FailureRecord>& failures) {
  RunResults results;
  results.run = forged_run();
  results.failures = failures;
  return results;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

RunResults golden() {
  return read_results((std::filesystem::path(__FILE__).parent_path() / "../fixtures/results_golden.jsonl").string());
}

constexpr const char* kMismatch = R"(norm.rmsnorm  number.reference  FAIL (mismatch)
  replay: assay replay out/trials/norm.rmsnorm-2.json --library ./libmykernels.so
  trial: eager: hidden=9 rows=2 fp16 recipe=normal lead=2d eps=1e-06 late seed=7
         minimal, 31 shrink runs in 0.4 s; caught after 3 cases
         confirmation: fresh worker
  variant: rows on host, fp16; also: bf16
  what: 2 of 18 cells of out are wrong (in: call)
  worst cells: tail: the last cell of each row
    cell       actual  expected  bound
    out(0, 8)  nan     1.5       0.016
    out(1, 8)  nan     -0.75     0.0085
  bound: atol 0.001 + rtol 0.01 * |e|: allclose of fp16 (spec/slots.md 1.4)
  device: host: host model
  library: mykernels 1.2, ./libmykernels.so, sha256 2c26b46b68ffc68f
  assay: 0.1.0, tier quick, seed 0, trusting
  the worker printed (shown, never judged):
    | rows: using \x1b[1mvector\x1b[0m path
    | rows: width 9
)";

TEST(FailureText, OfTheGoldenRun) {
  const RunResults results = golden();
  const auto groups = grouped(results);
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(failure_text(groups[1], results.run, false), kMismatch);
}

TEST(FailureText, ColourAddsEscapesOnly) {
  const RunResults results = golden();
  for (const auto& group : grouped(results)) {
    const std::string coloured = failure_text(group, results.run, true);
    EXPECT_NE(coloured.find("\x1b[1;31mFAIL"), std::string::npos);
    EXPECT_EQ(without_colour(coloured), failure_text(group, results.run, false));
  }
}

TEST(Grouped, RulesThatFailOnOneTrialAreOneBlock) {
  const auto groups = grouped(failing({forged_failure("number.reference"), forged_failure("number.bound")}));
  ASSERT_EQ(groups.size(), 1U);
  const std::string text = failure_text(groups[0], forged_run(), false);
  EXPECT_EQ(lines_of(text)[0], "norm.rmsnorm  number.reference, number.bound  FAIL (mismatch)");
  EXPECT_EQ(lines_of(text)[1], "  replay: assay replay out/trials/norm.rmsnorm-1.json --library ./libmykernels.so");
}

TEST(FailureText, ACrashThatFailsManyRulesIsToldOnce) {
  std::vector<FailureRecord> failures;
  for (const char* rule : {"a.a", "a.b", "a.c", "a.d", "a.e"}) {
    failures.push_back(forged_failure(rule, Reason::crash));
    failures.back().text = "SIGSEGV in the entry";
    failures.back().worst = nlohmann::json::array();
  }
  const auto lines = lines_of(failure_text(grouped(failing(failures)).at(0), forged_run(), false));
  EXPECT_EQ(lines[0], "norm.rmsnorm  a.a, a.b, a.c and 2 more  FAIL (crash)");
  EXPECT_EQ(std::ranges::count(lines, "  rules: a.a, a.b, a.c, a.d, a.e"), 1);
  EXPECT_EQ(std::ranges::count(lines, "  what: SIGSEGV in the entry (in: call)"), 1);
}

TEST(FailureText, RulesThatFoundDifferentThingsAreToldApart) {
  FailureRecord other = forged_failure("number.bound");
  other.text = "12 ulp";
  const std::string text = failure_text({forged_failure("number.reference"), other}, forged_run(), false);
  EXPECT_NE(text.find("  what: number.reference: 2 of 18"), std::string::npos) << text;
  EXPECT_NE(text.find("  what: number.bound: 12 ulp"), std::string::npos) << text;
}

TEST(Grouped, AnotherReasonTrialVariantOrDeviceIsAnotherBlock) {
  const FailureRecord first = forged_failure("number.reference");
  FailureRecord reason = first, trial = first, variant = first, device = first;
  reason.reason = Reason::bound;
  trial.trial["cases"][0]["seed"] = 8;
  variant.subject.variant = "vector";
  device.subject.device = "cuda";
  for (const FailureRecord& other : {reason, trial, variant, device}) {
    EXPECT_EQ(grouped(failing({first, other})).size(), 2U);
  }
}

TEST(Grouped, DtypesWithTheSameRulesShareABlockAndOnlyThose) {
  const auto a16 = forged_failure("a.a", Reason::mismatch, "fp16"),
             b16 = forged_failure("a.b", Reason::mismatch, "fp16");
  const auto abf = forged_failure("a.a", Reason::mismatch, "bf16"),
             bbf = forged_failure("a.b", Reason::mismatch, "bf16");
  const auto a32 = forged_failure("a.a", Reason::mismatch, "fp32");
  const auto groups = grouped(failing({a16, abf, b16, bbf, a32}));
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0].size(), 4U);
  const std::string text = failure_text(groups[0], forged_run(), false);
  EXPECT_NE(text.find("  variant: rows on host, fp16; also: bf16\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("bf16 recipe"), std::string::npos) << "the second dtype's trial belongs to its own replay";
}

TEST(Grouped, KeepsEveryFailure) {
  holds("no failure is lost or doubled", 300, [] {
    std::vector<FailureRecord> failures;
    for (int i = 0; i < *rc::gen::inRange(0, 12); ++i) {
      FailureRecord f =
          forged_failure(*rc::gen::element<std::string>("a.a", "a.b"), *rc::gen::element(Reason::crash, Reason::bound),
                         *rc::gen::element<std::string>("fp16", "bf16", "fp32"));
      f.trial["cases"][0]["seed"] = *rc::gen::inRange(0, 2);
      f.cases_until_caught = i;
      failures.push_back(f);
    }
    std::vector<bool> seen(failures.size(), false);
    for (const auto& group : grouped(failing(failures))) {
      RC_ASSERT(!group.empty());
      RC_ASSERT(!failure_text(group, forged_run(), false).empty());
      for (const FailureRecord& f : group) {
        RC_ASSERT(!seen[static_cast<std::size_t>(f.cases_until_caught)]);
        seen[static_cast<std::size_t>(f.cases_until_caught)] = true;
      }
    }
    for (const bool one : seen) RC_ASSERT(one);
  });
}

TEST(FailureText, TheReplayCommandIsNeverBroken) {
  FailureRecord f = forged_failure("a.b");
  f.replay = "assay replay " + std::string(300, 'p') + " --library x y z";
  EXPECT_EQ(lines_of(failure_text({f}, forged_run(), false))[1], "  replay: " + f.replay);
  f.replay.clear();
  EXPECT_EQ(lines_of(failure_text({f}, forged_run(), false))[1], "  replay: no command; the trial is in the results");
}

TEST(FailureText, WhatIsUnsettledSaysSo) {
  FailureRecord f = forged_failure("a.b", Reason::flaky);
  f.minimal = false;
  f.confirmed = "flaky: 2 of 5";
  const std::string text = failure_text({f}, forged_run(), false);
  EXPECT_NE(text.find("NO_DECISION (flaky)"), std::string::npos);
  EXPECT_NE(text.find("smallest found, not minimal"), std::string::npos);
  EXPECT_NE(text.find("confirmation: flaky: 2 of 5"), std::string::npos);
}

TEST(FailureText, AWorkerCannotForgeALineOfTheReport) {
  FailureRecord f = forged_failure("a.b");
  f.worker_output = "x\n  assay: PASS\n\x1b[2J\r  verdict: PASS\u2028norm.rmsnorm  a.b  PASS";
  const auto lines = lines_of(failure_text({f}, forged_run(), false));
  const auto marker = std::find(lines.begin(), lines.end(), "  the worker printed (shown, never judged):");
  ASSERT_NE(marker, lines.end());
  for (auto line = marker + 1; line != lines.end(); ++line) {
    EXPECT_TRUE(line->starts_with("    | ")) << *line;
    EXPECT_EQ(printable(*line), *line);
  }
}

TEST(FailureText, OnlyTheLastLinesOfTheWorkerAreShown) {
  FailureRecord f = forged_failure("a.b");
  for (int i = 1; i <= 50; ++i) f.worker_output += "line " + std::to_string(i) + "\n";
  const std::string text = failure_text({f}, forged_run(), false);
  EXPECT_NE(text.find("    ... 38 earlier lines\n    | line 39\n"), std::string::npos) << text;
  EXPECT_NE(text.find("    | line 50\n"), std::string::npos);
}

TEST(FailureText, AnyBytesGivePrintableLinesThatFitButForTheReplay) {
  holds("lines are printable", 200, [](const std::string& bytes) {
    FailureRecord f = forged_failure("a.b");
    f.text = f.label = f.pattern = f.bound = f.trial_text = f.worker_output = f.replay = f.confirmed = bytes;
    f.worst = nlohmann::json::array({worst_cell(bytes, 1, 2, 3)});
    f.worst[0]["actual"] = bytes;
    const auto lines = lines_of(failure_text({f}, forged_run(), false));
    for (std::size_t i = 0; i < lines.size(); ++i) {
      RC_ASSERT(printable(lines[i]) == lines[i]);
      RC_ASSERT(i == 1 || columns_of(lines[i]) <= report_columns);
    }
  });
}

}  // namespace
}  // namespace assay
