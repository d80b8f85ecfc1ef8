#include "conformance/tried_cases.hpp"

#include <gtest/gtest.h>

#include <map>

namespace assay {
namespace {

std::int64_t at(const std::vector<std::pair<std::string, std::int64_t>>& counts, const std::string& name) {
  return std::map<std::string, std::int64_t>(counts.begin(), counts.end()).at(name);
}

TEST(TriedCases, EveryEdgeRecipeAndKnobOfASlotIsListedFromTheStart) {
  for (const SlotSpec* slot : slot_catalogue()) {
    const Tried tried = untried(*slot);
    ASSERT_EQ(tried.dims.size(), slot->dims.size()) << slot->id;
    for (std::size_t i = 0; i < tried.dims.size(); ++i) {
      EXPECT_EQ(
          tried.dims[i].edges.front().first,
          std::min(slot->dims[i].min,
                   slot->dims[i].edges.empty() ? slot->dims[i].min : *std::ranges::min_element(slot->dims[i].edges)))
          << slot->id;
      for (const auto& [value, cases] : tried.dims[i].edges) EXPECT_EQ(cases, 0) << slot->id;
    }
    EXPECT_EQ(tried.recipes.size(), slot->recipes.size()) << slot->id;
    EXPECT_EQ(tried_from(to_json(tried)), tried) << slot->id;
  }
}

TEST(TriedCases, CountsEdgesOthersAndExtremes) {
  const SlotSpec* slot = find_slot("activation.silu_and_mul");
  ASSERT_TRUE(slot);
  Tried tried = untried(*slot);
  Case c;
  c.slot = slot->id;
  c.recipe = "tag";
  c.knobs = {{"lead", "1d"}};
  for (const std::int64_t rows : {7, 7, 6}) {
    c.dims = {{"rows", rows}, {"d", 64}};
    count_case(tried, c);
  }
  const auto dim = std::ranges::find(tried.dims, "rows", &DimTried::name);
  ASSERT_NE(dim, tried.dims.end());
  EXPECT_EQ(dim->least, 6);
  EXPECT_EQ(dim->most, 7);
  EXPECT_EQ(dim->elsewhere, 1);
  for (const auto& [value, cases] : dim->edges) EXPECT_EQ(cases, value == 7 ? 2 : 0) << value;
  EXPECT_EQ(at(tried.recipes, "tag"), 3);
  EXPECT_EQ(at(tried.recipes, "normal"), 0);
  EXPECT_EQ(at(tried.knobs, "lead=1d"), 3);
  EXPECT_EQ(at(tried.knobs, "lead=2d"), 0);
}

}  // namespace
}  // namespace assay
