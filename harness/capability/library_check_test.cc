#include "harness/capability/library_check.hpp"

#include <gtest/gtest.h>

#include "harness/case/json.hpp"

namespace assay {
namespace {

SlotCatalogueView catalogue() {
  SlotCatalogueView view;
  view["norm.rmsnorm"] = {"iiod", true, *supply_of("norm.rmsnorm")};
  view["moe.fused_experts"] = {"iiipo", true, *supply_of("moe.fused_experts")};
  view["collective.all_reduce"] = {"io", false, *supply_of("collective.all_reduce")};
  view["mine.gelu"] = {"iow", true, make_supply("mine.gelu", {"num_tokens", "last_dim"})};
  return view;
}

VariantDescription variant(const char* slot, const char* id) {
  VariantDescription v;
  v.present = v.complete = v.has_entry = true;
  v.size = sizeof(assay_variant);
  v.flags = ASSAY_GRAPH_SAFE;
  v.device_type = kDLCPU;
  v.slot.value = slot;
  if (id) v.id.value = id;
  return v;
}

LibraryDescription library(std::vector<VariantDescription> variants) {
  LibraryDescription l;
  l.present = l.complete = l.has_variants = true;
  l.size = sizeof(assay_library);
  l.abi_version = ASSAY_ABI_VERSION;
  l.name.value = "mine";
  l.variant_count = static_cast<std::uint32_t>(variants.size());
  l.variants = std::move(variants);
  return l;
}

// The codes found, and that every sentence is one line of readable length with a remedy after a semicolon.
std::vector<std::string> codes(const LibraryDescription& l) {
  std::vector<std::string> found;
  const LoadReport report = validate(l, catalogue());
  for (const LoadError& e : report.errors) {
    found.emplace_back(name_of(e.code));
    EXPECT_EQ(e.sentence.find('\n'), std::string::npos);
    EXPECT_NE(e.sentence.find(';'), std::string::npos) << e.sentence;
    EXPECT_LT(e.sentence.size(), 700u);
  }
  return found;
}

template <class Change>
std::vector<std::string> codes_after(Change change) {
  VariantDescription v = variant("norm.rmsnorm", "a");
  change(v);
  return codes(library({v}));
}

using Codes = std::vector<std::string>;

TEST(LibraryCheck, ASoundLibraryIsAcceptedWithItsDomains) {
  VariantDescription v = variant("norm.rmsnorm", "a");
  v.capabilities.value = R"({"num_tokens": {"max": 64}})";
  VariantDescription unnamed = variant("mine.gelu", nullptr);
  unnamed.signature.value = "iow";
  unnamed.flags = 0;
  const LoadReport report = validate(library({v, unnamed}), catalogue());
  ASSERT_TRUE(report.ok()) << report.errors[0].sentence;
  ASSERT_EQ(report.accepted.size(), 2u);
  EXPECT_EQ(report.accepted[0].domain.encode(), R"({"num_tokens":{"max":64}})");
  EXPECT_EQ(report.accepted[1].id, "default");
  EXPECT_EQ(report.accepted[1].domain.encode(), R"({"graph_mode":{"one_of":["eager"]}})");
}

TEST(LibraryCheck, TheTableItselfIsCheckedFirst) {
  LibraryDescription l;
  EXPECT_EQ(codes(l), Codes{"no_table"});
  l.present = true;
  EXPECT_EQ(codes(l), Codes{"table_size"});  // size 0
  l.size = sizeof(assay_library);
  l.abi_version = 99;
  EXPECT_EQ(codes(l), Codes{"abi_version"});
  l.abi_version = ASSAY_ABI_VERSION;
  l.size = 16;
  EXPECT_EQ(codes(l), Codes{"table_size"});

  l = library({});
  EXPECT_EQ(codes(l), Codes{"no_variants"});
  l = library({variant("norm.rmsnorm", "a")});
  l.has_variants = false;
  EXPECT_EQ(codes(l), Codes{"no_variants"});
  l.has_variants = true;
  l.variant_count = 1000000;
  EXPECT_EQ(codes(l), Codes{"too_many_variants"});
  l = library({variant("norm.rmsnorm", "a")});
  l.size = 70000;
  EXPECT_EQ(codes(l), Codes{"table_size"});
  l.size = sizeof(assay_library) + 64;  // grown at the end
  EXPECT_EQ(codes(l), Codes{});
  l.name = {std::nullopt, TextFault::not_text};
  EXPECT_EQ(codes(l), Codes{"bad_text"});
}

TEST(LibraryCheck, EachMistakeOfAVariantHasItsOwnCode) {
  EXPECT_EQ(codes_after([](auto& v) { v = {}; }), Codes{"null_variant"});
  EXPECT_EQ(codes_after([](auto& v) {
              v.complete = false;
              v.size = 0;
            }),
            Codes{"table_size"});
  EXPECT_EQ(codes_after([](auto& v) { v.size = 0xCDCDCDCD; }), Codes{"table_size"});
  EXPECT_EQ(codes_after([](auto& v) { v.slot.value = "norm.rmsnrom"; }), Codes{"unknown_slot"});
  EXPECT_EQ(codes_after([](auto& v) { v.slot.value = std::nullopt; }), Codes{"unknown_slot"});
  EXPECT_EQ(codes_after([](auto& v) { v.device_type = kDLROCM; }), Codes{"unknown_device"});
  EXPECT_EQ(codes_after([](auto& v) { v.device_type = 0; }), Codes{"unknown_device"});
  EXPECT_EQ(codes_after([](auto& v) { v.flags = 8; }), Codes{"unknown_flag"});
  EXPECT_EQ(codes_after([](auto& v) { v.id.value = "a b"; }), Codes{"bad_id"});
  EXPECT_EQ(codes_after([](auto& v) { v.id.value = ""; }), Codes{"bad_id"});
  EXPECT_EQ(codes_after([](auto& v) { v.has_entry = false; }), Codes{"null_entry"});
  EXPECT_EQ(codes_after([](auto& v) { v.signature.value = "iod"; }), Codes{"signature_mismatch"});
  EXPECT_EQ(codes_after([](auto& v) { v.signature.value = "iiod"; }), Codes{});
  EXPECT_EQ(codes_after([](auto& v) { v.has_prepare = true; }), Codes{"prepare_superfluous"});
  EXPECT_EQ(codes_after([](auto& v) { v.has_release = true; }), Codes{"prepare_superfluous"});
  EXPECT_EQ(codes_after([](auto& v) { v.capabilities.value = "{"; }), Codes{"bad_capabilities"});
  EXPECT_EQ(codes_after([](auto& v) { v.id = {std::nullopt, TextFault::too_long}; }), Codes{"bad_text"});
  EXPECT_EQ(codes_after([](auto& v) { v.slot = {std::nullopt, TextFault::not_text}; }), Codes{"bad_text"});
  EXPECT_EQ(codes_after([](auto& v) { v.capabilities = {std::nullopt, TextFault::over_total}; }), Codes{"bad_text"});
}

TEST(LibraryCheck, ASlotOutsideTheUnionNeedsItsSignatureText) {
  const auto gelu = [](std::optional<std::string> text) {
    VariantDescription v = variant("mine.gelu", "a");
    v.signature.value = std::move(text);
    return codes(library({v}));
  };
  EXPECT_EQ(gelu("iow"), Codes{});
  EXPECT_EQ(gelu(std::nullopt), Codes{"signature_mismatch"});
  EXPECT_EQ(gelu("io"), Codes{"signature_mismatch"});
}

TEST(LibraryCheck, AMoeVariantNeedsPrepareAndRelease) {
  const auto moe = [](bool prepare, bool release) {
    VariantDescription v = variant("moe.fused_experts", "a");
    v.has_prepare = prepare;
    v.has_release = release;
    return codes(library({v}));
  };
  EXPECT_EQ(moe(true, true), Codes{});
  EXPECT_EQ(moe(false, false), Codes{"prepare_missing"});
  EXPECT_EQ(moe(true, false), Codes{"prepare_missing"});
  EXPECT_EQ(moe(false, true), Codes{"prepare_missing"});
}

TEST(LibraryCheck, IdsAreUniqueWithinASlotOnly) {
  VariantDescription gelu = variant("mine.gelu", "a");
  gelu.signature.value = "iow";
  EXPECT_EQ(codes(library({variant("norm.rmsnorm", "a"), gelu})), Codes{});
  EXPECT_EQ(codes(library({variant("norm.rmsnorm", "a"), variant("norm.rmsnorm", "b")})), Codes{});
  EXPECT_EQ(codes(library({variant("norm.rmsnorm", "a"), variant("norm.rmsnorm", "a")})), Codes{"duplicate_id"});
  EXPECT_EQ(codes(library({variant("norm.rmsnorm", nullptr)})), Codes{});
  EXPECT_EQ(codes(library({variant("norm.rmsnorm", "a"), variant("norm.rmsnorm", nullptr)})), Codes{"bad_id"});
}

TEST(LibraryCheck, ThirtyTwoVariantsOfASlotAreTheLimit) {
  std::vector<VariantDescription> many;
  for (int i = 0; i < 32; ++i) many.push_back(variant("norm.rmsnorm", ("v" + std::to_string(i)).c_str()));
  EXPECT_EQ(codes(library(many)), Codes{});
  many.push_back(variant("norm.rmsnorm", "v32"));
  EXPECT_EQ(codes(library(many)), Codes{"too_many_variants"});
}

TEST(LibraryCheck, ASlotOfAbiHThatThisBuildLacksIsSkippedAndTold) {
  VariantDescription broken = variant("attention.sdpa", "a");  // not in the view at all
  broken.capabilities.value = "{";
  const LoadReport report =
      validate(library({variant("collective.all_reduce", "a"), broken, variant("norm.rmsnorm", "a")}), catalogue());
  EXPECT_TRUE(report.ok());
  ASSERT_EQ(report.skipped.size(), 2u);
  EXPECT_EQ(report.skipped[0].slot, "collective.all_reduce");
  EXPECT_EQ(report.skipped[1].variant, 1u);
  ASSERT_EQ(report.accepted.size(), 1u);
  EXPECT_EQ(report.accepted[0].variant, 2u);
}

TEST(LibraryCheck, OneVariantsMistakeHidesNoOthers) {
  VariantDescription worst = variant("norm.rmsnorm", "a");
  worst.device_type = 7;
  worst.has_entry = false;
  worst.has_prepare = true;
  worst.signature.value = "x";
  worst.capabilities.value = R"({"head_dim": 64})";
  EXPECT_EQ(codes(library({worst, {}, variant("nothing", "a"), variant("norm.rmsnorm", "a")})),
            (Codes{"signature_mismatch", "prepare_superfluous", "bad_capabilities", "unknown_device", "null_entry",
                   "null_variant", "unknown_slot", "duplicate_id"}));
}

TEST(LibraryCheck, ARefusedCapabilityKeepsItsRuleAndAHostileNameIsMadePrintable) {
  VariantDescription v = variant("norm.rmsnorm", "a");
  v.capabilities.value = R"({"head_dim": 64})";
  const LoadReport report = validate(library({v}), catalogue());
  ASSERT_EQ(report.errors.size(), 1u);
  EXPECT_EQ(report.errors[0].predicate, "PE-15");
  EXPECT_EQ(report.errors[0].sentence,
            "variant 0 (\"norm.rmsnorm\", id \"a\"): its capabilities are refused (PE-15: field \"head_dim\" is never "
            "supplied by norm.rmsnorm: the variant could not be selected; drop the predicate); mend them, or set NULL "
            "to accept every call of the slot");

  VariantDescription foreign = variant("\xC3\xA9vil", std::string(500, 'i').c_str());
  const LoadReport shown_report = validate(library({foreign}), catalogue());
  ASSERT_EQ(shown_report.errors.size(), 1u);
  for (const char c : shown_report.errors[0].sentence) EXPECT_TRUE(c >= ' ' && c <= '~');
  EXPECT_LT(shown_report.errors[0].sentence.size(), 400u);
}

}  // namespace
}  // namespace assay
