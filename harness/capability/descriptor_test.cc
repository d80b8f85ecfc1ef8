#include "harness/capability/descriptor.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "harness/case/digest.hpp"
#include "harness/case/json.hpp"
#include "harness/case/rapid_test.hpp"

namespace assay {
namespace {

template <class Function>
std::string rule_of(Function f) {
  try {
    f();
  } catch (const DescriptorError& error) {
    return error.rule();
  }
  return "accepted";
}

DescriptorBuilder basic() {
  DescriptorBuilder b;
  b.dtype("bf16").architecture("sm_90").graph_mode("eager");
  return b;
}

TEST(Descriptor, EncodesSortedCanonicalTextWithOneDigest) {
  DescriptorBuilder b;
  b.num_tokens(33).graph_mode("off").architecture("SM-90").last_dim(5760).dtype("torch.bfloat16");
  const Descriptor d = b.build();
  EXPECT_EQ(d.encode(),
            R"({"architecture":"sm90","dtype":"bfloat16","graph_mode":"eager","last_dim":5760,"num_tokens":33})");
  EXPECT_EQ(d.digest(),
            sha256_hex(R"({"domain":"assay.call-descriptor","payload":)" + d.encode() + R"(,"schema_version":1})"));
  EXPECT_EQ(std::get<std::int64_t>(*d.find("last_dim")), 5760);
  EXPECT_EQ(d.find("head_dim"), nullptr);
}

TEST(Descriptor, ANamedSetterExistsForEveryFieldOfTheVocabulary) {
  DescriptorBuilder b;
  b.alignment(1).batch_size(2).block_size(3).ep_size(4).exp_tokens(5).head_dim(6).hidden_dim(7).init_blocks(8);
  b.intermediate_dim(9).kv_len(10).last_dim(11).local_blocks(12).num_experts(13).num_kv_heads(14).num_q_heads(15);
  b.num_tokens(16).page_size(17).q_block_size(18).q_len(19).top_k(20).tp_size(21).world_size(22);
  b.architecture("cpu").dtype("fp32").graph_mode("on").layout("paged").model("M").phase("mixed").quant("fp8").runtime(
      "r");
  const Descriptor d = b.build();
  EXPECT_EQ(d.fields().size(), 30u);
  std::int64_t sum = 0;
  for (const auto& entry : d.fields()) {
    ASSERT_TRUE(kind_of_field(entry.first)) << entry.first;
    if (const auto* number = std::get_if<std::int64_t>(&entry.second)) sum += *number;
  }
  EXPECT_EQ(sum, 22 * 23 / 2);
}

TEST(Descriptor, TypesAreNeverConverted) {
  EXPECT_EQ(rule_of([] { basic().set("head_dim", true); }), "DR-2");
  EXPECT_EQ(rule_of([] { basic().set("head_dim", 128.0); }), "DR-2");
  EXPECT_EQ(rule_of([] { basic().set("head_dim", "128"); }), "DR-2");
  EXPECT_EQ(rule_of([] { basic().set("head_dim", -1); }), "DR-2");
  EXPECT_EQ(rule_of([] { basic().set("head_dim", std::numeric_limits<std::uint64_t>::max()); }), "DR-2");
  EXPECT_EQ(rule_of([] { basic().set("phase", 1.0); }), "DR-3");
  EXPECT_EQ(rule_of([] { basic().set("phase", std::numeric_limits<std::uint64_t>::max()); }), "DR-3");
  EXPECT_EQ(rule_of([] { basic().set("model", "\xFF"); }), "DR-3");
  EXPECT_EQ(rule_of([] { basic().set("scalar.eps", std::numeric_limits<double>::quiet_NaN()); }), "DR-2");
  EXPECT_EQ(rule_of([] { basic().set("rank", 1.0); }), "DR-1");
}

TEST(Descriptor, AFloatScalarTravelsAsItsExactText) {
  const Descriptor d = basic().set("scalar.eps", 1e-6).set("scalar.causal", true).set("scalar.n", -3).build();
  EXPECT_EQ(d.encode(), R"({"architecture":"sm90","dtype":"bfloat16","graph_mode":"eager","scalar.causal":true,)"
                        R"("scalar.eps":"0x1.0c6f7a0b5ed8dp-20","scalar.n":-3})");
  EXPECT_EQ(decode_descriptor(d.encode()), d);
}

TEST(Descriptor, StoredTextIsReadStrictly) {
  EXPECT_THROW((void)decode_descriptor("[]"), JsonError);
  EXPECT_THROW((void)decode_descriptor(R"({"dtype":"bf16","dtype":"bf16"})"), JsonError);
  EXPECT_THROW((void)decode_descriptor(R"({"dtype":["bf16"]})"), DescriptorError);
}

Descriptor rmsnorm_call(std::string_view extra, std::int64_t value) {
  DescriptorBuilder b = basic();
  b.num_tokens(3).last_dim(64).tp_size(1).world_size(1);
  if (!extra.empty()) b.set(extra, value);
  return b.build();
}

TEST(Descriptor, ABindingSuppliesExactlyItsRowOfTheMatrix) {
  const SlotSupply& rmsnorm = *supply_of("norm.rmsnorm");
  const auto check = [&](const Descriptor& d, const SlotSupply& supply, RowForm form) {
    return rule_of([&] { require_supply(d, supply, form); });
  };
  EXPECT_EQ(check(rmsnorm_call("", 0), rmsnorm, RowForm::library), "accepted");
  EXPECT_EQ(check(rmsnorm_call("head_dim", 64), rmsnorm, RowForm::library), "DR-10");
  EXPECT_EQ(check(basic().num_tokens(3).tp_size(1).world_size(1).build(), rmsnorm, RowForm::library), "DR-10");
  EXPECT_EQ(check(rmsnorm_call("", 0), rmsnorm, RowForm::sealed), "DR-10");
  EXPECT_EQ(check(rmsnorm_call("scalar.eps", 1), rmsnorm, RowForm::sealed), "DR-10");
  EXPECT_EQ(check(rmsnorm_call("scalar.eps", 1), rmsnorm, RowForm::library), "DR-10");
  DescriptorBuilder sealed = basic();
  sealed.num_tokens(3).last_dim(64).tp_size(1).world_size(1).set("scalar.eps", 1e-6);
  EXPECT_EQ(check(sealed.build(), rmsnorm, RowForm::sealed), "accepted");
}

TEST(Descriptor, FixedValuesEqualFieldsAndProfileFieldsAreChecked) {
  const auto reduce = [](std::int64_t hidden, std::int64_t last, std::int64_t world, const char* quant) {
    DescriptorBuilder b = basic();
    return b.num_tokens(3)
        .hidden_dim(hidden)
        .last_dim(last)
        .layout("row_major")
        .quant(quant)
        .tp_size(2)
        .world_size(world)
        .build();
  };
  const SlotSupply& supply = *supply_of("collective.all_reduce");
  EXPECT_NO_THROW(require_supply(reduce(64, 64, 2, "dense"), supply, RowForm::library));
  EXPECT_EQ(rule_of([&] { require_supply(reduce(64, 63, 2, "dense"), supply, RowForm::library); }), "DR-10");
  EXPECT_EQ(rule_of([&] { require_supply(reduce(64, 64, 4, "dense"), supply, RowForm::library); }), "DR-10");
  EXPECT_EQ(rule_of([&] { require_supply(reduce(64, 64, 2, "fp8"), supply, RowForm::library); }), "DR-10");

  DescriptorBuilder moe = basic();
  moe.num_tokens(3).hidden_dim(64).last_dim(64).intermediate_dim(32).num_experts(8).top_k(2).quant("nvfp4");
  moe.layout("routed_moe").tp_size(1).world_size(1);
  EXPECT_NO_THROW(require_supply(moe.build(), *supply_of("moe.fused_experts"), RowForm::library));
  EXPECT_NO_THROW(require_supply(moe.model("MiniMax-M3").build(), *supply_of("moe.fused_experts"), RowForm::library));
}

TEST(Descriptor, TheOrderOfSettingChangesNothingAndTextReadsBack) {
  holds("order", 500, [] {
    const std::vector<std::string> names = {"num_tokens", "last_dim", "tp", "world", "head_dim", "kv_len", "q_len"};
    const auto chosen = *rc::gen::container<std::map<std::size_t, std::int64_t>>(
        rc::gen::inRange<std::size_t>(0, names.size()), rc::gen::positive<std::int64_t>());
    DescriptorBuilder up = basic();
    DescriptorBuilder down = basic();
    for (auto it = chosen.begin(); it != chosen.end(); ++it) up.set(names[it->first], it->second);
    for (auto it = chosen.rbegin(); it != chosen.rend(); ++it) down.set(names[it->first], it->second);
    RC_ASSERT(up.build() == down.build());
    RC_ASSERT(up.build().encode() == down.build().encode());
    RC_ASSERT(decode_descriptor(up.build().encode()) == up.build());
  });
}

}  // namespace
}  // namespace assay
