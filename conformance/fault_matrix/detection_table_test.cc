#include "conformance/fault_matrix/detection_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay {
namespace {

using testing::HasSubstr;
using testing::Not;

Detection caught(const std::string& stem, std::int64_t cases, double seconds) {
  Detection d;
  d.stem = stem;
  d.rule = "input.bounds";
  d.reason = "out_of_bounds";
  d.dtype = "bf16";
  d.cases_until_caught = cases;
  d.seconds_until_caught = seconds / 2;
  d.seconds_until_shrunk = seconds;
  d.trial = "garbage: rows=1 | d=1";
  d.confirmed = "fresh worker";
  return d;
}

Detection missed() {
  Detection d;
  d.stem = "sly";
  d.rule = "input.bounds";
  d.miss = "no failure in any dtype";
  return d;
}

TEST(DetectionTable, MediansAreOfTheCaughtOnly) {
  Detection slow = missed();
  slow.seconds_until_shrunk = 900;
  const Medians m = medians_of({caught("a", 1, 2.0), slow, caught("b", 3, 6.0), caught("c", 8, 4.0)});
  EXPECT_EQ(m.caught, 3u);
  EXPECT_EQ(m.cases, 3);
  EXPECT_EQ(m.seconds_until_shrunk, 4.0);
  EXPECT_EQ(m.seconds_until_caught, 2.0);
  EXPECT_EQ(m.most_seconds, 6.0);
  EXPECT_EQ(medians_of({}).caught, 0u);
}

TEST(DetectionTable, MissedFaultSaysWhyInBothForms) {
  EXPECT_THAT(text_line(missed()), HasSubstr("MISSED sly"));
  EXPECT_THAT(text_line(missed()), HasSubstr("no failure in any dtype"));
  const std::string page = markdown_page({caught("a", 1, 2), missed()}, "what");
  EXPECT_THAT(page, HasSubstr("2 faults, 1 of 2 demanded detections"));
  EXPECT_THAT(page, HasSubstr("| `sly` | **missed** by `input.bounds` | no failure in any dtype |"));
}

TEST(DetectionTable, UnprovenMinimumIsMarked) {
  Detection d = caught("a", 1, 2);
  EXPECT_THAT(markdown_page({d}, "what"), Not(HasSubstr(" * |")));
  d.minimal = false;
  EXPECT_THAT(markdown_page({d}, "what"), HasSubstr(" * |"));
  EXPECT_THAT(text_line(d), HasSubstr("budget spent"));
}

TEST(DetectionTable, BarsOfATrialDoNotBreakTheTable) {
  EXPECT_THAT(markdown_page({caught("a", 1, 2)}, "what"), HasSubstr("rows=1 \\| d=1"));
}

}  // namespace
}  // namespace assay
