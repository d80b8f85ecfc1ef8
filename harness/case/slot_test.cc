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

SlotSpec layered() {
  SlotSpec s = simple();
  s.knobs = {{"form", {"dense", "quantised"}}};
  s.dims.push_back({"group", 1, 4, {}});
  s.sizes = {{"heads", [](const Case& c) { return c["d"] * c["group"]; }},
             {"table", [](const Case& c) { return c["rows"] + 1; }}};
  s.arguments =
      args(in("q", {"rows", "heads"}), in("ids", {"table"}).typed(DType::i32).filled([](auto&&...) { return true; }),
           prepared("prepared"), out("out", {"rows", "2*heads"}),
           f64("scale", {1.0, 0.5}).times([](const Case& c) { return 1.0 / static_cast<double>(c["d"]); }),
           i64("group", {1}).times([](const Case& c) { return static_cast<double>(c["group"]); }),
           i32("causal", {1, 0}))
          .specs;
  const auto quantised = [](const Case& c) { return c.knobs.at("form") == "quantised"; };
  s.weights = {in("w13", {"heads", "d"}).spec, in("w13_weight_scale", {"heads"}).typed(DType::u8).when(quantised).spec};
  s.weight_facts = [](const Case&) { return WeightFacts{}; };
  s.comparator = {.mode = Mode::allclose};
  return s;
}

Case layers(const std::string& form) {
  Case c;
  c.dtype = DType::f16;
  c.dims = {{"rows", 3}, {"d", 4}, {"group", 2}};
  c.knobs = {{"form", form}};
  return c;
}

TEST(SlotShape, ExtentsMayFollowFromDims) {
  const SlotSpec s = layered();
  const Case c = layers("dense");
  EXPECT_EQ(s.shape(s.argument("q"), c), (Extents{3, 8}));
  EXPECT_EQ(s.shape(s.argument("ids"), c), (Extents{4}));
  EXPECT_EQ(s.shape(s.argument("out"), c), (Extents{3, 16}));
  EXPECT_EQ(s.shape(s.weights[0], c), (Extents{8, 4}));
  EXPECT_THROW((void)s.shape(in("y", {"columns"}).spec, c), std::out_of_range) << "neither a dim nor a size";
}

TEST(SlotTensors, AreTheCallsInItsOrderThenTheWeightsOfTheCasesForm) {
  const SlotSpec s = layered();
  const auto names = [&](const char* form) {
    std::string text;
    for (const ArgumentSpec* a : s.tensors(layers(form))) text += a->name + " ";
    return text;
  };
  EXPECT_EQ(names("dense"), "q ids out w13 ");
  EXPECT_EQ(names("quantised"), "q ids out w13 w13_weight_scale ");
}

TEST(SlotTensors, InputBytesCountWeightsAndNoOutputs) {
  const SlotSpec s = layered();
  constexpr std::uint64_t q = 3 * 8 * 2, ids = 4 * 4, w13 = 8 * 4 * 2, scales = 8;
  EXPECT_EQ(s.input_bytes(layers("dense")), q + ids + w13);
  EXPECT_EQ(s.input_bytes(layers("quantised")), q + ids + w13 + scales);
}

TEST(SlotScalars, AreAChoiceTimesWhatFollowsFromDims) {
  const SlotSpec s = layered();
  Case c = layers("dense");
  EXPECT_EQ(s.scalar(s.argument("scale"), c), 0.25) << "the first choice where the case holds none";
  EXPECT_EQ(s.scalar(s.argument("group"), c), 2.0);
  EXPECT_EQ(s.scalar(s.argument("causal"), c), 1.0);
  c.scalars = {{"scale", 0.5}, {"causal", 0}};
  EXPECT_EQ(s.scalar(s.argument("scale"), c), 0.125);
  EXPECT_EQ(s.scalar(s.argument("causal"), c), 0.0);
}

TEST(SlotComparator, MayFollowFromTheCase) {
  SlotSpec s = layered();
  EXPECT_EQ(s.comparing(layers("dense")).mode, Mode::allclose);
  s.comparator_by_case = [](const Case& c) {
    return c.knobs.at("form") == "dense" ? Comparator{.mode = Mode::matched_ratio, .floor = 0.97}
                                         : Comparator{.mode = Mode::cosine, .floor = 0.99};
  };
  EXPECT_EQ(s.comparing(layers("dense")).mode, Mode::matched_ratio);
  EXPECT_EQ(s.comparing(layers("quantised")).mode, Mode::cosine);
}

TEST(SlotWeights, EachPlaceOfTheStructHasANameOfTheTaggedView) {
  const std::pair<const char*, int> places[] = {{"w13", 0},
                                                {"w2", 1},
                                                {"w13_weight", 0},
                                                {"w2_weight", 1},
                                                {"w13_weight_scale", 2},
                                                {"w2_weight_scale", 3},
                                                {"g1_alphas", 4},
                                                {"g2_alphas", 5},
                                                {"w13_input_scale_quant", 6},
                                                {"w2_input_scale_quant", 7}};
  for (const auto& [name, place] : places) EXPECT_EQ(weight_place(name), place) << name;
  EXPECT_EQ(weight_place("w3"), -1);
  EXPECT_EQ(weight_place(""), -1);
}

TEST(SlotValues, ABaseKeyDiffersByArgumentAndSeedOnly) {
  Case c = layers("dense"), other = layers("quantised");
  EXPECT_EQ(base_key(c, "q"), base_key(other, "q"));
  EXPECT_NE(base_key(c, "q"), base_key(c, "ids"));
  other.seed = 1;
  EXPECT_NE(base_key(c, "q"), base_key(other, "q"));
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
  expect_contradiction([](SlotSpec& s) { s.arguments.push_back(in("ids", {"rows"}).typed(DType::i32).spec); },
                       "the integers of ids have no fill");
  expect_contradiction([](SlotSpec& s) { s.arguments.push_back(prepared("prepared").spec); },
                       "it has a prepared argument and no weights to prepare");
  expect_contradiction([](SlotSpec& s) { s.weights.push_back(in("w3", {"d"}).spec); },
                       "the weight w3 is no member of assay_moe_weights, or is there twice");
  expect_contradiction(
      [](SlotSpec& s) {
        s.weights = {in("w2", {"d"}).spec, in("w2", {"d"}).spec};
      },
      "the weight w2 is no member of assay_moe_weights, or is there twice");
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
