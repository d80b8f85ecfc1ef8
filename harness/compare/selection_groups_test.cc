#include "harness/compare/selection_groups.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "harness/compare/chosen_test.hpp"
#include "harness/compare/output.hpp"

namespace assay {
namespace {

Comparison overall(const Chosen& c) { return compare_output(c.mode, DType::bf16, c.actual.view(), c.expected); }
SelectionReport by_group(const Chosen& c) { return test_selection(c.mode, c.actual.view(), c.expected); }

std::vector<Chosen> both() { return {chosen_indices(4, 256, 32, 4), chosen_scores(512, 64, 8)}; }

TEST(SelectionGroups, TheRightChoicesPass) {
  for (const Chosen& c : both()) {
    EXPECT_TRUE(overall(c).passed) << overall(c).reason;
    EXPECT_TRUE(by_group(c).passed) << by_group(c).reason;
  }
}

TEST(SelectionGroups, ABlockThatIsNeverChosenFailsWhereTheMeanOverlapForgives) {
  for (Chosen c : both()) {
    c.never(5);
    EXPECT_TRUE(overall(c).passed) << overall(c).reason;
    const SelectionReport report = by_group(c);
    ASSERT_FALSE(report.passed);
    EXPECT_EQ(report.reason.substr(0, 9), "block 5: ") << report.reason;
    EXPECT_NE(report.reason.find("clear choices are missing"), std::string::npos) << report.reason;
  }
}

TEST(SelectionGroups, MissesThatAreSpreadOverBlocksAndHeadsAreForgiven) {
  for (Chosen c : both()) {
    for (std::int64_t r = 0; r < c.rows(); r += 8) c.leave_out(r, c.best[static_cast<std::size_t>(r)][1]);
    EXPECT_TRUE(overall(c).passed) << overall(c).reason;
    EXPECT_TRUE(by_group(c).passed) << by_group(c).reason;
  }
}

TEST(SelectionGroups, AHeadThatHalvesItsChoicesFailsAlone) {
  Chosen c = chosen_indices(16, 64, 512, 4);
  for (std::int64_t r = 7 * 64; r < 8 * 64; ++r)
    for (const std::size_t rank : {1, 2}) c.leave_out(r, c.best[static_cast<std::size_t>(r)][rank]);
  EXPECT_TRUE(overall(c).passed) << overall(c).reason;
  const SelectionReport report = by_group(c);
  ASSERT_FALSE(report.passed);
  // Blocks are looked at first; with so many of them none is missed often enough.
  EXPECT_EQ(report.reason.substr(0, 8), "head 7: ") << report.reason;
  EXPECT_NE(report.reason.find("128 of 192"), std::string::npos) << "the forced block is no choice: " << report.reason;
}

TEST(SelectionGroups, NearTiesBelongToNobody) {
  Chosen c = chosen_indices(1, 256, 16, 4);
  // Blocks 5 and up tie within 2^-16 of the largest: whichever is taken, 5 need not be.
  auto selection = std::make_shared<Selection>(*c.expected.selection);
  for (std::size_t i = 0; i < selection->scores.size(); ++i)
    if (i % 16 >= 5) selection->scores[i] = 8.0 + 0x1p-15 * static_cast<double>(i % 16) / 16.0;
  c.expected.selection = selection;
  for (std::size_t i = 0; i < static_cast<std::size_t>(c.actual.size()); ++i)
    c.actual.values<std::int32_t>()[i] = i % 4 == 0 ? 0 : static_cast<std::int32_t>(6 + i % 4);
  EXPECT_TRUE(overall(c).passed) << overall(c).reason;
  EXPECT_TRUE(by_group(c).passed) << by_group(c).reason;
  for (std::size_t i = 5; i < selection->scores.size(); i += 16) selection->scores[i] = 9.0;  // now it must
  EXPECT_EQ(by_group(c).reason.substr(0, 9), "block 5: ");
}

TEST(SelectionGroups, ForcedBlocksAndRowsWithoutAChoiceDoNotCount) {
  Chosen c = chosen_indices(2, 128, 8, 8);  // as many places as blocks
  EXPECT_TRUE(by_group(c).passed);
  for (std::int32_t& id : c.actual.values<std::int32_t>()) id = -1;
  EXPECT_TRUE(by_group(c).passed) << "a fault of structure, which is another comparison's";
  EXPECT_FALSE(overall(c).passed);
  Chosen forced = chosen_indices(2, 128, 32, 1);  // the one place is the forced block's
  forced.never(0);
  EXPECT_TRUE(by_group(forced).passed);
}

TEST(SelectionGroups, IdsThatAreNoBlocksAreMissingAndNotRead) {
  Chosen c = chosen_indices(2, 128, 32, 4);
  for (std::int32_t& id : c.actual.values<std::int32_t>()) id = std::numeric_limits<std::int32_t>::max() - 3;
  EXPECT_FALSE(by_group(c).passed);
  for (std::int32_t& id : c.actual.values<std::int32_t>()) id = std::numeric_limits<std::int32_t>::min();
  EXPECT_FALSE(by_group(c).passed);
}

TEST(SelectionGroups, EmptyOutputsPass) {
  EXPECT_TRUE(by_group(chosen_indices(2, 0, 32, 4)).passed);
  EXPECT_TRUE(by_group(chosen_indices(0, 5, 32, 4)).passed);
  EXPECT_TRUE(by_group(chosen_scores(0, 64, 8)).passed);
  EXPECT_TRUE(by_group(chosen_scores(5, 1, 8)).passed) << "nothing is visible";
}

}  // namespace
}  // namespace assay
