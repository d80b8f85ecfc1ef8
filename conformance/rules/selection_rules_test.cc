// Rules on outputs that are choices, score sheets and index outputs, and on rows that belong together by value.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "conformance/rules/forged_test.hpp"
#include "harness/compare/chosen_test.hpp"

namespace assay {
namespace {

using namespace forged;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

SlotSpec choosing_slot(const Comparator& mode) {
  SlotSpec s = made_up_slot();
  s.kind = Kind::block;
  s.comparator = mode;
  return s;
}

// A slot whose one output is the given choice, and calls of it. What it saw must not outlive it.
class Choosing {
 public:
  explicit Choosing(Chosen chosen) : chosen_(std::move(chosen)), slot_(choosing_slot(chosen_.mode)) {}

  [[nodiscard]] Observation seen(Drive drive, int calls = 1) const {
    Observation seen = right(drive);
    seen.slot = &slot_;
    seen.calls.resize(1);
    CallSeen& call = seen.calls[0];
    auto reference = std::make_shared<ReferenceResult>();
    reference->outputs.push_back(chosen_.expected);
    call.reference = std::move(reference);
    call.outputs[0].actual = copy(chosen_.actual);
    for (int i = 1; i < calls; ++i) {
      seen.calls.push_back(seen.calls[0]);
      seen.calls.back().outputs[0].actual = copy(chosen_.actual);
    }
    return seen;
  }
  Chosen& chosen() { return chosen_; }

  static Tensor copy(const Tensor& t) {
    Tensor same(t.view().shape, t.view().dtype);
    for (std::int64_t i = 0; i < t.size(); ++i)
      store_value(same.view().data, t.view().dtype, i, value_at(t.view().data, t.view().dtype, i));
    return same;
  }

 private:
  Chosen chosen_;
  SlotSpec slot_;
};

Choosing indices() { return Choosing(chosen_indices(4, 256, 32, 4)); }
Choosing sheet() { return Choosing(chosen_scores(512, 64, 8)); }

Judgement asked(const char* rule, const Observation& seen) { return judge(*find_rule(rule), seen); }
std::string verdict(const char* rule, const Observation& seen) { return said(asked(rule, seen)); }

// Every row's choice from its end to its start: the same selection.
void turn(Tensor& ids) {
  const auto width = static_cast<std::size_t>(ids.view().shape.back());
  const auto cells = ids.values<std::int32_t>();
  for (std::size_t first = 0; first < cells.size(); first += width)
    std::reverse(cells.begin() + static_cast<std::ptrdiff_t>(first),
                 cells.begin() + static_cast<std::ptrdiff_t>(first + width));
}

TEST(SelectionRules, RightChoicesPassEveryRuleOfNumbers) {
  for (const Choosing& choosing : {indices(), sheet()})
    for (const char* rule :
         {"number.reference", "number.no_structured_error", "number.bound", "number.hard_values", "number.extremes"})
      EXPECT_EQ(verdict(rule, choosing.seen(Drive::eager)), "PASS none: ") << rule;
}

TEST(SelectionRules, ABlockThatIsNeverChosenIsAStructuredErrorUnderAGoodMean) {
  for (Choosing choosing : {indices(), sheet()}) {
    choosing.chosen().never(5);
    const Observation seen = choosing.seen(Drive::eager);
    EXPECT_EQ(verdict("number.reference", seen), "PASS none: ");
    const Judgement j = asked("number.no_structured_error", seen);
    EXPECT_EQ(name_of(j.verdict), "FAIL") << said(j);
    EXPECT_EQ(name_of(j.reason), "structured");
    EXPECT_EQ(j.text.rfind("out: block 5: ", 0), 0u) << j.text;
    EXPECT_EQ(j.label, "call");
    EXPECT_FALSE(j.bound.empty());
  }
}

TEST(SelectionRules, AWrongChoiceFailsTheReference) {
  for (Choosing choosing : {indices(), sheet()}) {
    for (std::int64_t r = 0; r < choosing.chosen().rows(); ++r)
      for (const std::size_t rank : {1, 2})
        choosing.chosen().leave_out(r, choosing.chosen().best[static_cast<std::size_t>(r)][rank]);
    const Judgement j = asked("number.reference", choosing.seen(Drive::eager));
    EXPECT_EQ(name_of(j.verdict), "FAIL") << said(j);
    EXPECT_NE(j.bound.find("floor"), std::string::npos);
    EXPECT_EQ(j.bound.find("|actual - expected|"), std::string::npos) << "no tolerance was asked: " << j.bound;
  }
}

TEST(SelectionRules, OnlyASheetMayHoldMinusInfinity) {
  const Choosing scores = sheet(), ids = indices();
  Observation seen = scores.seen(Drive::eager);
  ASSERT_EQ(seen.calls[0].outputs[0].actual.view().at<float>({0, 63}), -kInfinity) << "what is invisible";
  EXPECT_EQ(verdict("number.finite", seen), "PASS none: ");
  for (const float bad : {kInfinity, std::numeric_limits<float>::quiet_NaN()}) {
    seen = scores.seen(Drive::eager);
    seen.calls[0].outputs[0].actual.view().at<float>({7, 63}) = bad;
    const Judgement j = asked("number.finite", seen);
    EXPECT_EQ(name_of(j.reason), "not_finite") << said(j);
    EXPECT_NE(j.text.find("out(7, 63)"), std::string::npos) << j.text;
  }
  seen = right(Drive::eager);
  cell(seen, 0) = -kInfinity;
  EXPECT_EQ(name_of(asked("number.finite", seen).reason), "not_finite");
  // Indices are no floats: the rule has nothing to say.
  EXPECT_EQ(name_of(asked("number.finite", ids.seen(Drive::eager)).verdict), "NOT_APPLICABLE");
}

TEST(SelectionRules, AnotherOrderIsNoDifferenceUnlessTheVariantPromisesBytes) {
  const Choosing ids = indices();
  Observation seen = ids.seen(Drive::garbage, 2);
  turn(seen.calls[1].outputs[0].actual);
  EXPECT_EQ(name_of(asked("input.bounds", seen).reason), "out_of_bounds") << "DETERMINISTIC";
  seen.variant.flags = ASSAY_GRAPH_SAFE;
  EXPECT_EQ(verdict("input.bounds", seen), "PASS none: ");
}

TEST(SelectionRules, AScalarThatMovesNoSelectionIsObeyedWhereTheSelectionStaysRight) {
  Choosing choosing = indices();
  Observation seen = choosing.seen(Drive::variation, 2);
  seen.calls[1].changed_scalar = "eps";
  turn(seen.calls[1].outputs[0].actual);
  seen.variant.flags = 0;
  EXPECT_EQ(said(asked("input.scalars", seen)), "PASS none: ");
  EXPECT_TRUE(asked("input.scalars", seen).evidence);
  seen.calls[1].informative = false;  // everything is selected anyway
  EXPECT_FALSE(asked("input.scalars", seen).evidence);
  for (std::int64_t r = 0; r < choosing.chosen().rows(); ++r)
    for (const std::size_t rank : {1, 2})
      choosing.chosen().leave_out(r, choosing.chosen().best[static_cast<std::size_t>(r)][rank]);
  seen.calls[1].outputs[0].actual = choosing.chosen().actual;
  seen.calls[1].compared = nullptr;
  EXPECT_EQ(name_of(asked("input.scalars", seen).reason), "scalar_ignored");
}

// Rows of 8 that belong to experts by value, where 3 in 100 cells may miss.
Observation routed(const std::vector<std::uint32_t>& expert_of_row) {
  static const SlotSpec spec = [] {
    SlotSpec s = choosing_slot({.mode = Mode::matched_ratio, .floor = 0.97});
    s.groups.clear();
    return s;
  }();
  Case c = base_case();
  c.dims["rows"] = static_cast<std::int64_t>(expert_of_row.size());
  Observation seen = right(Drive::eager, c);
  seen.slot = &spec;
  auto reference = std::make_shared<ReferenceResult>(*seen.calls[0].reference);
  reference->outputs[0].groups = {{"expert", 64, expert_of_row}};
  seen.calls[0].reference = std::move(reference);
  return seen;
}

TEST(GroupsByValue, AnExpertWhoseRowsAreWrongIsNamedWhereTheRatioForgives) {
  std::vector<std::uint32_t> expert_of_row;
  for (std::uint32_t r = 0; r < 512; ++r) expert_of_row.push_back(r * 7 % 64);
  Observation seen = routed(expert_of_row);
  EXPECT_EQ(verdict("number.no_structured_error", seen), "PASS none: ");
  for (std::int64_t r = 0; r < 512; ++r)
    for (std::int64_t k = 0; k < 8 && expert_of_row[static_cast<std::size_t>(r)] == 9; ++k) cell(seen, 0, r, k) = 0;
  EXPECT_EQ(verdict("number.reference", seen), "PASS none: ");
  const Judgement j = asked("number.no_structured_error", seen);
  EXPECT_EQ(name_of(j.reason), "structured") << said(j);
  EXPECT_EQ(j.text.rfind("out: expert 9: ", 0), 0u) << j.text;
}

}  // namespace
}  // namespace assay
