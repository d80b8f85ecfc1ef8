#include "harness/capability/vocabulary.hpp"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "harness/capability/supply.hpp"
#include "harness/case/rapid_test.hpp"

namespace assay {
namespace {

TEST(Vocabulary, FieldAliasesAndSpellingsFoldToOneName) {
  const std::map<std::string, std::string> cases = {
      {"arch", "architecture"}, {"DTYPE-name", "dtype"},     {" tp ", "tp_size"},          {"ep", "ep_size"},
      {"World", "world_size"},  {"worldsize", "world_size"}, {"Graph-Mode", "graph_mode"}, {"head_dim", "head_dim"}};
  for (const auto& [raw, folded] : cases) EXPECT_EQ(fold_field(raw), folded) << raw;
}

TEST(Vocabulary, EveryAliasOfTheSpecificationFolds) {
  const std::vector<std::array<const char*, 3>> cases = {{"dtype", "bf16", "bfloat16"},
                                                         {"dtype", "FP16", "float16"},
                                                         {"dtype", "fp32", "float32"},
                                                         {"dtype", "torch.float16", "float16"},
                                                         {"dtype", "torch.float8_e4m3fn", "float8_e4m3"},
                                                         {"dtype", "uint8", "uint8"},
                                                         {"architecture", "sm_103", "sm103"},
                                                         {"architecture", "SM-103", "sm103"},
                                                         {"architecture", "SM103", "sm103"},
                                                         {"architecture", "sm_103a", "sm103a"},
                                                         {"architecture", "gfx950", "gfx950"},
                                                         {"architecture", "cpu", "cpu"},
                                                         {"architecture", "sm_", "sm_"},
                                                         {"architecture", "sm_9_0", "sm_9_0"},
                                                         {"graph_mode", "capture", "cuda_graph"},
                                                         {"graph_mode", "capturing", "cuda_graph"},
                                                         {"graph_mode", "replay", "cuda_graph"},
                                                         {"graph_mode", "graph", "cuda_graph"},
                                                         {"graph_mode", "on", "cuda_graph"},
                                                         {"graph_mode", "graphs-on", "cuda_graph"},
                                                         {"graph_mode", "cuda-graph", "cuda_graph"},
                                                         {"graph_mode", "off", "eager"},
                                                         {"graph_mode", "graphs_off", "eager"},
                                                         {"phase", "extend", "prefill"},
                                                         {"quant", "none", "dense"},
                                                         {"quant", "unquantized", "dense"},
                                                         {"layout", "Paged-NHD", "paged_nhd"},
                                                         {"model", " MiniMax-M3-NVFP4 ", "MiniMax-M3-NVFP4"},
                                                         {"runtime", "SGLang-0.5", "sglang_0.5"}};
  for (const auto& [field, raw, folded] : cases) EXPECT_EQ(fold_text(field, raw).token, folded) << field << ' ' << raw;
}

TEST(Vocabulary, AClosedFieldTakesNoOtherTokenAndNoFieldTakesBlank) {
  for (const char* field : {"dtype", "graph_mode", "layout", "phase", "quant"}) {
    EXPECT_FALSE(fold_text(field, "other").token) << field;
    EXPECT_FALSE(fold_text(field, "other").blank) << field;
    EXPECT_FALSE(closed_tokens(field).empty()) << field;
  }
  for (const char* field : {"architecture", "model", "runtime", "dtype"}) EXPECT_TRUE(fold_text(field, " \n").blank);
  EXPECT_TRUE(closed_tokens("model").empty());
}

TEST(Vocabulary, OnlyWellFormedScalarNamesAreOfKindScalar) {
  EXPECT_EQ(kind_of_field("scalar.eps"), FieldKind::scalar);
  for (const char* name : {"scalar.", "scalar", "scalar.E", "scalar.1x", "scalar.a.b", "scalars.eps", "rank", ""}) {
    EXPECT_FALSE(kind_of_field(name)) << name;
  }
}

TEST(Vocabulary, F64HexHasOneSpellingForEachValue) {
  const std::vector<std::pair<double, const char*>> cases = {
      {1.0, "0x1.0000000000000p+0"},
      {-0.0, "-0x0.0p+0"},
      {0.0, "0x0.0p+0"},
      {1e-6, "0x1.0c6f7a0b5ed8dp-20"},
      {-2.5, "-0x1.4000000000000p+1"},
      {std::numeric_limits<double>::denorm_min(), "0x0.0000000000001p-1022"},
      {std::numeric_limits<double>::min(), "0x1.0000000000000p-1022"},
      {std::numeric_limits<double>::max(), "0x1.fffffffffffffp+1023"}};
  for (const auto& [value, text] : cases) {
    EXPECT_EQ(f64_hex(value), text);
    EXPECT_TRUE(is_f64_hex(text)) << text;
  }
  for (const char* text : {"",
                           "-",
                           "0x",
                           "1.0",
                           "inf",
                           "nan",
                           "0x1p+0",
                           "0x1.0000000000000p+00",
                           "0x1.0000000000000p0",
                           "0x1.0000000000000P+0",
                           "0X1.0000000000000p+0",
                           "0x1.FFFFFFFFFFFFFp+1",
                           "+0x0.0p+0",
                           "0x0.0p-0",
                           "0x1.0000000000000p+1024",
                           "0x1.0000000000000p-1023",
                           "0x0.0000000000000p-1022",
                           "0x1.00000000000000p+0",
                           " 0x0.0p+0",
                           "0x0.0p+0 ",
                           "0x-0.0p+0",
                           "--0x0.0p+0",
                           "0x1.0000000000000p+99999999999999999999"}) {
    EXPECT_FALSE(is_f64_hex(text)) << text;
  }
  EXPECT_THROW((void)f64_hex(std::numeric_limits<double>::infinity()), std::invalid_argument);
}

TEST(Vocabulary, F64HexHoldsEveryFiniteDouble) {
  holds("f64_hex", 2000, [] {
    const auto value = std::bit_cast<double>(*rc::gen::arbitrary<std::uint64_t>());
    RC_PRE(std::isfinite(value));
    const std::string text = f64_hex(value);
    RC_ASSERT(is_f64_hex(text));
    RC_ASSERT(std::bit_cast<std::uint64_t>(std::strtod(text.c_str(), nullptr)) == std::bit_cast<std::uint64_t>(value));
  });
}

std::string gen_spelling() {
  const auto pieces = *rc::gen::container<std::vector<std::string>>(rc::gen::element<std::string>(
      "sm", "SM", "_", "-", "90", "103", "a", "A", " ", "\t", "torch.", "bf16", "bfloat16", "graph", "cuda", "on",
      "none", "extend", "tp", "world", "size", "scalar.", ".", "\xC3\xA9", "dense"));
  std::string text;
  for (const std::string& piece : pieces) text += piece;
  return text;
}

TEST(Vocabulary, FoldingIsIdempotent) {
  holds("folding", 3000, [] {
    const std::string text = gen_spelling();
    const std::string field = fold_field(text);
    RC_ASSERT(fold_field(field) == field);
    const auto name = *rc::gen::element<std::string>("architecture", "dtype", "graph_mode", "layout", "model", "phase",
                                                     "quant", "runtime");
    const FoldedText once = fold_text(name, text);
    if (once.token) {
      RC_ASSERT(fold_text(name, *once.token).token == once.token);
    }
  });
}

TEST(Vocabulary, EveryClosedTokenFoldsToItself) {
  for (const char* field : {"dtype", "graph_mode", "layout", "phase", "quant"}) {
    for (const std::string_view token : closed_tokens(field)) EXPECT_EQ(fold_text(field, token).token, token);
  }
}

TEST(Supply, TheMatrixSpeaksTheVocabularyAndNothingTwice) {
  EXPECT_EQ(supply_matrix().size(), 11u);
  for (const SlotSupply& row : supply_matrix()) {
    SCOPED_TRACE(row.slot);
    EXPECT_EQ(supply_of(row.slot), &row);
    std::map<std::string, int> seen;
    for (const SuppliedField& field : row.fields) {
      EXPECT_EQ(++seen[field.name], 1) << field.name;
      EXPECT_EQ(fold_field(field.name), field.name);
      const auto kind = kind_of_field(field.name);
      ASSERT_TRUE(kind && *kind != FieldKind::scalar) << field.name;
      if (!field.always) continue;
      EXPECT_EQ(std::holds_alternative<std::int64_t>(*field.always), *kind == FieldKind::numeric) << field.name;
      if (const auto* text = std::get_if<std::string>(&*field.always)) {
        EXPECT_EQ(fold_text(field.name, *text).token, *text);
      }
    }
    for (const auto& [one, other] : row.equal) EXPECT_TRUE(seen.contains(one) && seen.contains(other)) << one;
    for (const auto& scalar : row.scalars) EXPECT_EQ(kind_of_field(scalar.first), FieldKind::scalar);
    EXPECT_TRUE(row.supplies("tp_size") && row.supplies("world_size") && row.supplies("dtype"));
    EXPECT_FALSE(row.supplies("alignment") || row.supplies("runtime"));
  }
}

TEST(Supply, AStrangersSlotNamesItsOwnFields) {
  const SlotSupply mine = make_supply("mine.gelu", {"num_tokens", "Last-Dim"});
  EXPECT_TRUE(mine.supplies("last_dim") && mine.supplies("graph_mode"));
  EXPECT_FALSE(mine.supplies("head_dim"));
  EXPECT_THROW((void)make_supply("mine.gelu", {"rows"}), std::invalid_argument);
  EXPECT_THROW((void)make_supply("mine.gelu", {"tp", "tp_size"}), std::invalid_argument);
  EXPECT_THROW((void)make_supply("mine.gelu", {"dtype"}), std::invalid_argument);
  EXPECT_THROW((void)make_supply("mine.gelu", {"scalar.eps"}), std::invalid_argument);
  EXPECT_EQ(supply_of("mine.gelu"), nullptr);
}

TEST(Supply, AnArenaMayAddAFieldButNoRankLocalOneToACollective) {
  EXPECT_TRUE(supply_of("norm.rmsnorm")->with("alignment").supplies("alignment"));
  EXPECT_FALSE(supply_of("norm.rmsnorm")->supplies("alignment"));
  EXPECT_THROW((void)supply_of("collective.all_reduce")->with("alignment"), std::invalid_argument);
  EXPECT_TRUE(supply_of("collective.all_reduce")->with("runtime").supplies("runtime"));
}

}  // namespace
}  // namespace assay
