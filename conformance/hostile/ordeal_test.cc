// The table and the judgement of runs, on forged results.
#include "conformance/hostile/ordeal.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "conformance/fault_matrix/fault_row.hpp"

namespace assay {
namespace {

using testing::HasSubstr;

RuleRecord rule(const std::string& variant, const std::string& id, Verdict verdict, Reason reason = Reason::none) {
  RuleRecord r;
  r.subject.slot = "activation.silu_and_mul";
  r.subject.variant = variant;
  r.subject.device = "host";
  r.subject.dtype = "fp32";
  r.subject.rule = id;
  r.verdict = verdict;
  r.reason = reason;
  r.judged = r.evidence = 1;
  r.text = "as forged";
  return r;
}

RunResults results(std::vector<RuleRecord> rules) {
  RunResults all;
  all.has_run = all.has_end = true;
  all.run.tier = "gate";
  all.rules = std::move(rules);
  all.end = end_for(all);
  return all;
}

const RuleRecord kSpared = rule("bystander", "number.reference", Verdict::pass);

std::string miss_of(const RunResults& results, Verdict demanded = Verdict::fail) {
  Ordeal o;
  o.row.verdict = demanded;
  if (demanded == Verdict::fail) o.row.blame = {Reason::mismatch};
  judge_results(o, results);
  return o.miss;
}

TEST(OrdealTest, AFailureWithTheNamedReasonHolds) {
  EXPECT_EQ(miss_of(results({rule("hostile", "number.reference", Verdict::fail, Reason::mismatch),
                             rule("hostile", "write.every_cell", Verdict::pass), kSpared})),
            "");
}

TEST(OrdealTest, APassIsMissed) {
  EXPECT_THAT(miss_of(results({rule("hostile", "number.reference", Verdict::pass), kSpared})),
              HasSubstr("results.jsonl proves PASS"));
}

TEST(OrdealTest, AnotherReasonIsMissed) {
  EXPECT_THAT(miss_of(results({rule("hostile", "number.reference", Verdict::fail, Reason::crash), kSpared})),
              HasSubstr("no rule gives a reason that the table names, but crash"));
}

TEST(OrdealTest, ARuleWithoutDecisionIsMissedBesideAFailure) {
  EXPECT_THAT(miss_of(results({rule("hostile", "number.reference", Verdict::fail, Reason::mismatch),
                               rule("hostile", "write.every_cell", Verdict::no_decision, Reason::harness), kSpared})),
              HasSubstr("hostile write.every_cell is NO_DECISION"));
}

TEST(OrdealTest, AFailureOfTheRightVariantIsMissed) {
  EXPECT_THAT(miss_of(results({rule("hostile", "number.reference", Verdict::fail, Reason::mismatch),
                               rule("bystander", "number.reference", Verdict::fail, Reason::mismatch)})),
              HasSubstr("bystander number.reference is FAIL"));
}

TEST(OrdealTest, ARightVariantThatNobodyJudgedIsMissed) {
  EXPECT_THAT(miss_of(results({rule("hostile", "number.reference", Verdict::fail, Reason::mismatch)})),
              HasSubstr("the right variant beside it was not judged"));
}

TEST(OrdealTest, ACutOffRunIsMissed) {
  RunResults cut = results({rule("hostile", "number.reference", Verdict::fail, Reason::mismatch), kSpared});
  cut.has_end = false;
  EXPECT_THAT(miss_of(cut), HasSubstr("no end line"));
}

TEST(OrdealTest, AControlThatPassesHolds) {
  EXPECT_EQ(miss_of(results({rule("hostile", "number.reference", Verdict::pass), kSpared}), Verdict::pass), "");
}

TEST(HostileTableTest, EveryLibraryHasItsRowAndEveryRowItsLibrary) {
  std::set<std::string> sources, stems;
  for (const auto& entry : std::filesystem::directory_iterator(ASSAY_HOSTILE))
    if (entry.path().extension() == ".cc") sources.insert(entry.path().stem());
  for (const HostileRow& row : read_hostile(std::string(ASSAY_HOSTILE) + "/hostile.tsv")) stems.insert(row.stem);
  EXPECT_EQ(sources, stems);
}

TEST(HostileTableTest, BadRowsAreRefusedWithTheirLine) {
  const std::string path = testing::TempDir() + "/hostile.tsv";
  const auto refusal = [&](const std::string& row) -> std::string {
    std::ofstream(path) << "stem\ttries\tverdict\tblame\tbystander\tseconds\n" << row << "\n";
    try {
      (void)read_hostile(path);
    } catch (const BadTable& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refusal("a\tb\tFAIL\tmismatch,crash\tPASS\t9"), "");
  EXPECT_THAT(refusal("a\tb\tFAIL\t\tPASS\t9"), HasSubstr(":2: a FAIL names the reasons"));
  EXPECT_THAT(refusal("a\tb\tPASS\tcrash\tPASS\t9"), HasSubstr("a PASS names none"));
  EXPECT_THAT(refusal("a\tb\tWAIVED\tcrash\tPASS\t9"), HasSubstr("verdict is PASS or FAIL, not WAIVED"));
  EXPECT_THAT(refusal("a\tb\tFAIL\tcrash\tmaybe\t9"), HasSubstr("bystander is PASS or judged, not maybe"));
  EXPECT_THAT(refusal("a\tb\tFAIL\tcrash\tPASS\tsoon"), HasSubstr("seconds is a number from 1, not soon"));
  EXPECT_THAT(refusal("a\tb\tFAIL\tnonsense\tPASS\t9"), HasSubstr(":2: "));
}

}  // namespace
}  // namespace assay
