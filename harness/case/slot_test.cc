// Slot declarations: shapes from extents and knobs, and specs that contradict themselves.
#include "assay/slot.hpp"

#include <gtest/gtest.h>

namespace assay {
namespace {

SlotSpec simple() {
  SlotSpec s;
  s.id = "test.slot";
  s.dims = {{"rows", 0, 100, {}}, {"d", 1, 64, {}}};
  s.knobs = {{"lead", {"2d", "1d", "3d"}}};
  s.recipes = {{"normal", Recipe::normal}};
  s.arguments = args(in("x", {"rows", "2*d"}).strided(16), in("w", {"d"}).typed(DType::f32), in("four", {"4", "d"}),
                     out("out", {"rows", "d"}), f64("eps", {1e-6}))
                    .specs;
  s.reference = Reference("assay_reference_none");
  s.accumulation = [](const Case&) { return 1.0; };
  s.descriptor = [](const Case&, DescriptorFacts&) {};
  return s;
}

Case with(std::int64_t rows, std::int64_t d, const std::string& lead = "2d") {
  Case c;
  c.dtype = DType::f16;
  c.dims = {{"rows", rows}, {"d", d}};
  c.knobs = {{"lead", lead}};
  return c;
}

TEST(SlotShape, ExtentsAreDimsNumbersAndMultiples) {
  const SlotSpec s = simple();
  const Case c = with(3, 5);
  EXPECT_EQ(s.shape(s.argument("x"), c), (Extents{3, 10}));
  EXPECT_EQ(s.shape(s.argument("w"), c), (Extents{5}));
  EXPECT_EQ(s.shape(s.argument("four"), c), (Extents{4, 5}));
  EXPECT_EQ(s.dtype(s.argument("x"), c), DType::f16);
  EXPECT_EQ(s.dtype(s.argument("w"), c), DType::f32);
  EXPECT_EQ(s.output_cells(c), 15);
  EXPECT_THROW((void)s.argument("y"), std::out_of_range);
}

TEST(SlotShape, TheLeadKnobKeepsTheNumberOfCells) {
  const SlotSpec s = simple();
  EXPECT_EQ(s.shape(s.argument("x"), with(1, 5, "1d")), (Extents{10}));
  EXPECT_EQ(s.shape(s.argument("x"), with(6, 5, "3d")), (Extents{2, 3, 10}));
  EXPECT_EQ(s.shape(s.argument("x"), with(11, 5, "3d")), (Extents{1, 11, 10}));
  for (std::int64_t rows = 0; rows < 60; ++rows)
    for (const char* lead : {"2d", "3d"})
      EXPECT_EQ(element_count(s.shape(s.argument("out"), with(rows, 7, lead))), rows * 7) << rows << " " << lead;
  EXPECT_EQ(s.shape(s.argument("w"), with(6, 5, "3d")), (Extents{5})) << "a tensor of rank 1 has no rows to spread";
}

TEST(SlotTypes, TheUnionsMemberGivesTheLetters) {
  using Letters = detail::EntryLetters<decltype(&assay_entry::rmsnorm)>::type;
  static_assert(std::is_same_v<Letters, std::integer_sequence<char, 'i', 'i', 'o', 'd'>>);
  using Decode = detail::EntryLetters<decltype(&assay_entry::attention_decode)>::type;
  static_assert(std::is_same_v<Decode, std::integer_sequence<char, 'i', 'i', 'i', 'i', 'i', 'i', 'i', 'o', 'd', 'l'>>);
  SUCCEED();
}

TEST(Tiers, NamesLeadBackAndOthersAreRefused) {
  for (const Tier t : {Tier::quick, Tier::full, Tier::gate}) EXPECT_EQ(tier_from(name_of(t)), t);
  EXPECT_THROW((void)tier_from("slow"), std::invalid_argument);
}

using SlotRowDeathTest = ::testing::Test;

void expect_contradiction(const std::function<void(SlotSpec&)>& spoil, const std::string& sentence) {
  SlotSpec s = simple();
  spoil(s);
  EXPECT_DEATH(SlotRow{s}, sentence);
}

TEST(SlotRowDeathTest, ASpecThatContradictsItselfEndsTheProgramWithASentence) {
  expect_contradiction([](SlotSpec& s) { s.id.clear(); }, "it has no id");
  expect_contradiction([](SlotSpec& s) { s.arguments.push_back(s.arguments.front()); }, "two arguments are called x");
  expect_contradiction([](SlotSpec& s) { std::erase_if(s.arguments, [](auto& a) { return a.kind == 'o'; }); },
                       "it has no output");
  expect_contradiction(
      [](SlotSpec& s) {
        for (ArgumentSpec& a : s.arguments) a.dynamic = false;
      },
      "it has no dynamic input");
  expect_contradiction([](SlotSpec& s) { s.arguments.back().choices.clear(); }, "the scalar eps has no values");
  expect_contradiction([](SlotSpec& s) { s.arguments.front().alignment = 24; }, "is not a power of two");
  expect_contradiction([](SlotSpec& s) { s.recipes.clear(); }, "it has no recipes or no dims");
  expect_contradiction([](SlotSpec& s) { s.accumulation = nullptr; }, "its descriptor or its accumulation is missing");
  expect_contradiction([](SlotSpec& s) { s.reference = {}; }, "it has no reference");
  expect_contradiction([](SlotSpec& s) { s.dims[0].min = 200; }, "the dim rows has no range");
}

TEST(SlotRowDeathTest, ARegisteredSlotIsFoundAndASecondOfItsNameEndsTheProgram) {
  EXPECT_EXIT(
      {
        const SlotRow row{simple()};
        if (!find_slot("test.slot") || find_slot("test.slo")) std::exit(1);
        const SlotRow again{simple()};
        std::exit(2);
      },
      ::testing::KilledBySignal(SIGABRT), "the slot 'test.slot' contradicts itself: it is registered twice");
}

}  // namespace
}  // namespace assay
