// Which calls a variant is asked for: its domain, and the facts that a domain must name.
#include "conformance/candidate.hpp"

#include <gtest/gtest.h>

namespace assay {
namespace {

const SlotSpec& slot() {
  static const SlotSpec spec = [] {
    SlotSpec s;
    s.id = "moe.fused_experts";
    s.dims = {{"tokens", 1, 64, {}}};
    s.knobs = {{"form", {"dense", "nvfp4"}}, {"model", {"none", "m3"}}};
    s.recipes = {{"normal", Recipe::normal}};
    s.paired = {{"quant", "dense"}, {"model", ""}};
    s.descriptor = [](const Case& c, DescriptorFacts& d) {
      d.numbers["num_tokens"] = c["tokens"];
      d.words["quant"] = c.knobs.at("form");
      if (c.knobs.at("model") != "none") d.words["model"] = c.knobs.at("model");
    };
    return s;
  }();
  return spec;
}

// The parser knows that a slot of abi.h which prepares weights is dense where its domain is silent; of a stranger's
// slot only `paired` says so.
SlotSupply stranger() {
  SlotSupply supply = make_supply(slot().id, {});
  for (const char* field : {"num_tokens", "quant", "model"}) supply.fields.push_back({field, std::nullopt, false});
  return supply;
}

CandidateVariant variant_of(const SlotSpec& spec, const SlotSupply& supply, const char* capabilities) {
  CandidateVariant variant;
  variant.slot = &spec;
  variant.domain = lowered(spec, parse_domain(capabilities, {supply}, GraphSafe::no));
  return variant;
}

Descriptor call_of(const std::string& form, const std::string& model) {
  Case c;
  c.dtype = DType::bf16;
  c.dims = {{"tokens", 8}};
  c.knobs = {{"form", form}, {"model", model}};
  return descriptor_of(slot(), c, "sm_90", false);
}

// Whether a variant of these capabilities is asked for a call of this form and model.
std::string asked(const char* capabilities, const std::string& form, const std::string& model) {
  std::string said[2];
  const SlotSupply supplies[] = {*supply_of(slot().id), stranger()};
  for (int i = 0; i < 2; ++i) {
    const Match m = applicable(variant_of(slot(), supplies[i], capabilities), call_of(form, model));
    said[i] = m.accepted() ? "asked" : m.mismatches.front().field;
  }
  EXPECT_EQ(said[0], said[1]) << capabilities;
  return said[1];
}

TEST(Applicable, ADomainThatNamesNoQuantGetsDenseWeightsOnly) {
  for (const char* silent : {"{}", R"({"num_tokens": {"max": 64}})"}) {
    EXPECT_EQ(asked(silent, "dense", "none"), "asked");
    EXPECT_EQ(asked(silent, "nvfp4", "none"), "quant");
  }
  const char* nvfp4 = R"({"quant": "nvfp4"})";
  EXPECT_EQ(asked(nvfp4, "nvfp4", "none"), "asked");
  EXPECT_EQ(asked(nvfp4, "dense", "none"), "quant");
  const char* both = R"({"quant": ["dense", "nvfp4"]})";
  EXPECT_EQ(asked(both, "nvfp4", "none"), "asked");
  EXPECT_EQ(asked(both, "dense", "none"), "asked");
}

TEST(Applicable, ADomainThatNamesNoModelGetsCallsWithoutOne) {
  EXPECT_EQ(asked("{}", "dense", "m3"), "model");
  const char* named = R"({"model": "m3"})";
  EXPECT_EQ(asked(named, "dense", "m3"), "asked");
  EXPECT_EQ(asked(named, "dense", "none"), "model") << "a fact that is not there fails closed";
  EXPECT_EQ(asked(named, "nvfp4", "m3"), "quant") << "each fact for itself";
  EXPECT_EQ(asked(R"({"model": "m3", "quant": "nvfp4"})", "nvfp4", "m3"), "asked");
}

TEST(Applicable, AMismatchSaysWhatWouldHaveBeenAccepted) {
  const Match m = applicable(variant_of(slot(), stranger(), "{}"), call_of("nvfp4", "m3"));
  ASSERT_EQ(m.mismatches.size(), 2u);
  for (const Mismatch& each : m.mismatches) {
    EXPECT_EQ(each.kind, MismatchKind::outside_domain);
    EXPECT_NE(each.text().find("named by the domain"), std::string::npos) << each.text();
  }
}

TEST(Applicable, ASlotThatPairsNothingIsAskedByItsDomainAlone) {
  SlotSpec plain = slot();
  plain.paired.clear();
  EXPECT_TRUE(applicable(variant_of(plain, stranger(), "{}"), call_of("nvfp4", "m3")).accepted());
}

}  // namespace
}  // namespace assay
