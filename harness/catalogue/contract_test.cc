#include "harness/catalogue/contract.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <functional>
#include <nlohmann/json.hpp>

#include "harness/case/json.hpp"
#include "harness/case/rapid_test.hpp"
#include "harness/catalogue/sample_test.hpp"

namespace assay {
namespace {

using nlohmann::json;

std::string field_of(const json& contract) {
  try {
    (void)contract_from_json(contract);
  } catch (const ContractError& error) {
    EXPECT_NE(std::string(error.what()).find(error.field()), std::string::npos);
    return error.field();
  }
  return "accepted";
}

TEST(Decimal, HasOneSpelling) {
  for (const auto& [text, is] : std::vector<std::pair<const char*, const char*>>{{"1.0000", "1"},
                                                                                 {"1e-5", "0.00001"},
                                                                                 {"0.0200", "0.02"},
                                                                                 {"-0.000", "0"},
                                                                                 {"-0", "0"},
                                                                                 {"0e7", "0"},
                                                                                 {"2e-2", "0.02"},
                                                                                 {"12E2", "1200"},
                                                                                 {"1200", "1200"},
                                                                                 {"001.50", "1.5"},
                                                                                 {"-1.250e+1", "-12.5"},
                                                                                 {"10.0e-1", "1"},
                                                                                 {"123.456e1", "1234.56"}})
    EXPECT_EQ(decimal(text), is) << text;
  for (const char* text : {"", "-", ".5", "1.", "+1", "1e", "1e+", "nan", "inf", "0x1", "1,5", " 1", "1 ", "--1", "1e-",
                           "1e99999", "1e401", "1e-401"})
    EXPECT_THROW((void)decimal(text), ContractError) << text;
  EXPECT_EQ(decimal(0.02), "0.02");
  EXPECT_EQ(decimal(1e-5), "0.00001");
  EXPECT_EQ(decimal(-0.0), "0");
  EXPECT_THROW((void)decimal(std::nan("")), ContractError);
}

TEST(Decimal, KeepsTheNumberWhateverItsSpellingAndIsItsOwnSpelling) {
  holds("decimals are canonical", 5000, [] {
    const auto digits =
        *rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::inRange('0', static_cast<char>('9' + 1))));
    const auto part =
        *rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::inRange('0', static_cast<char>('9' + 1))));
    const int exponent = *rc::gen::inRange(-60, 60);
    const std::string text = digits + "." + part + "e" + std::to_string(exponent);
    const std::string once = decimal(text);
    RC_ASSERT(decimal(once) == once);
    RC_ASSERT(decimal(once + (once.find('.') == once.npos ? ".000" : "000")) == once);
    RC_ASSERT(std::strtod(once.c_str(), nullptr) == std::strtod(text.c_str(), nullptr));
  });
  holds("doubles read back", 2000, [] {
    const auto value =
        static_cast<double>(*rc::gen::arbitrary<std::int32_t>()) * std::pow(2.0, *rc::gen::inRange(-300, 300));
    RC_ASSERT(std::strtod(decimal(value).c_str(), nullptr) == value);
  });
}

TEST(Contract, ReadsBackWhatItWrote) {
  const TargetContractRef c = sample::contract("norm.rmsnorm");
  EXPECT_EQ(contract_from_json(to_json(c, 2)), c);
  TargetContractRef plain = c;
  plain.input_abi_digest = plain.output_abi_digest = plain.reference_digest = plain.profile_digest = "";
  EXPECT_EQ(contract_from_json(to_json(c, 1)), plain);
  EXPECT_NE(contract_digest(c, 1), contract_digest(c, 2));
}

TEST(Contract, WhatIsMissingUnknownOrOfAnotherTypeIsRefusedByItsField) {
  const json good = to_json(sample::contract("s"), 2);
  ASSERT_EQ(field_of(good), "accepted");
  for (const auto& item : good.items()) {
    json bad = good;
    bad.erase(item.key());
    EXPECT_EQ(field_of(bad), "/" + item.key());
    bad = good;
    bad[item.key()] = 0.5;
    EXPECT_EQ(field_of(bad).rfind("/" + item.key(), 0), 0u) << item.key();
    bad = good;
    bad[item.key()] = item.key() == "prepare" ? json("a b") : json(true);
    EXPECT_EQ(field_of(bad).rfind("/" + item.key(), 0), 0u) << item.key();
  }
  const std::vector<std::pair<const char*, const char*>> edits = {
      {R"([{"op":"add","path":"/note","value":"x"}])", "/note"},
      {R"([{"op":"replace","path":"/schema_version","value":3}])", "/schema_version"},
      {R"([{"op":"replace","path":"/schema_version","value":1}])", "/input_abi_digest"},
      {R"([{"op":"replace","path":"/schema_version","value":2.0}])", "/schema_version"},
      {R"([{"op":"replace","path":"/kind","value":"kernel"}])", "/kind"},
      {R"([{"op":"replace","path":"/entry","value":"9lives"}])", "/entry"},
      {R"([{"op":"replace","path":"/slot_id","value":"Norm"}])", "/slot_id"},
      {R"([{"op":"replace","path":"/graph_dynamic_inputs","value":[]}])", "/graph_dynamic_inputs"},
      {R"([{"op":"replace","path":"/graph_dynamic_inputs","value":["x","x"]}])", "/graph_dynamic_inputs"},
      {R"([{"op":"replace","path":"/graph_dynamic_inputs","value":[1]}])", "/graph_dynamic_inputs"},
      {R"([{"op":"replace","path":"/correctness/mode","value":"close"}])", "/correctness/mode"},
      {R"([{"op":"replace","path":"/correctness/top_k","value":-1}])", "/correctness/top_k"},
      {R"([{"op":"replace","path":"/correctness/top_k","value":8}])", "/correctness/top_k"},
      {R"([{"op":"replace","path":"/correctness/top_k","value":"8"}])", "/correctness/top_k"},
      {R"([{"op":"replace","path":"/correctness/min_ratio","value":0.99}])", "/correctness/min_ratio"},
      {R"([{"op":"replace","path":"/correctness/min_ratio","value":"1.5"}])", "/correctness/min_ratio"},
      {R"([{"op":"replace","path":"/correctness/min_ratio","value":"0"}])", "/correctness"},
      {R"([{"op":"replace","path":"/correctness/min_overlap","value":"-0.5"}])", "/correctness/min_overlap"},
      {R"([{"op":"replace","path":"/tolerances","value":[]}])", "/tolerances"},
      {R"([{"op":"replace","path":"/tolerances/1/dtype","value":"bfloat16"}])", "/tolerances/1/dtype"},
      {R"([{"op":"replace","path":"/tolerances/0/atol","value":"nan"}])", "/tolerances/0/atol"},
      {R"([{"op":"remove","path":"/tolerances/0/rtol"}])", "/tolerances/0/rtol"},
      {R"([{"op":"add","path":"/tolerances/0/ulp","value":"1"}])", "/tolerances/0/ulp"},
      {R"([{"op":"replace","path":"/kl_threshold","value":"many"}])", "/kl_threshold"},
      {R"([{"op":"replace","path":"/reference_digest","value":"0000000000000000000000000000000000000000000000000000000000000000"}])",
       "/reference_digest"}};
  for (const auto& [patch, field] : edits) EXPECT_EQ(field_of(good.patch(json::parse(patch))), field) << patch;
}

TEST(Contract, AModeTakesItsFieldsFromTheComparator) {
  EXPECT_EQ(correctness_of({.mode = Mode::allclose}).min_ratio, "1");
  const Correctness cosine = correctness_of({.mode = Mode::cosine, .floor = 0.985, .max_norm_error = 0.1});
  EXPECT_EQ(cosine.mode + cosine.min_cosine + cosine.max_rel_norm_err + cosine.min_ratio, "cosine0.9850.10");
  for (const Mode m : {Mode::topk_scores, Mode::topk_indices}) {
    const Correctness topk = correctness_of({.mode = m, .floor = 0.875, .k = 8});
    EXPECT_EQ(topk.mode + topk.min_overlap, "topk_overlap0.875");
    EXPECT_EQ(topk.top_k, 8);
  }
}

// An edit of one field, and its spelling when it says nothing new.
TEST(Contract, EveryEditChangesTheDigestAndNoSpellingDoes) {
  const TargetContractRef base = sample::contract("s");
  using Edit = std::function<void(TargetContractRef&, const std::string&)>;
  const std::vector<Edit> edits = {
      [](auto& c, const auto& v) { c.slot_id = "s" + v; },
      [](auto& c, const auto& v) { c.entry = "e" + v; },
      [](auto& c, const auto& v) { c.prepare = "p" + v; },
      [](auto& c, const auto& v) { c.input_abi_id = "s.input.v" + v; },
      [](auto& c, const auto& v) { c.output_abi_id = "s.output.v" + v; },
      [](auto& c, const auto& v) { c.reference_id = "s.reference.v" + v; },
      [](auto& c, const auto& v) { c.verification_profile_id = "s.verify.v" + v; },
      [](auto& c, const auto& v) { c.binding_family_id = "f" + v; },
      [](auto& c, const auto& v) { c.kl_threshold = decimal("0.0" + v); },
      [](auto& c, const auto& v) { c.correctness.min_ratio = decimal("0." + v); },
      [](auto& c, const auto& v) { c.correctness.min_cosine = decimal("0." + v); },
      [](auto& c, const auto& v) { c.correctness.max_rel_norm_err = decimal("0." + v); },
      [](auto& c, const auto& v) { c.correctness.min_overlap = decimal("0." + v); },
      [](auto& c, const auto& v) { c.tolerances[0].atol = decimal("0.0" + v); },
      [](auto& c, const auto& v) { c.tolerances[1].rtol = decimal("0.0" + v); },
      [](auto& c, const auto& v) { c.graph_dynamic_inputs.push_back("z" + v); },
      [](auto& c, const auto&) { std::swap(c.graph_dynamic_inputs[0], c.graph_dynamic_inputs[1]); },
      [](auto& c, const auto&) { c.graph_dynamic_inputs.pop_back(); },
      [](auto& c, const auto&) { c.kind = "block"; },
      [](auto& c, const auto&) { c.correctness.mode = "allclose"; },
      [](auto& c, const auto&) { c.tolerances.pop_back(); },
      [](auto& c, const auto& v) { c.reference_digest = std::string(60, 'a') + (v + "aaaa").substr(0, 4); },
      [](auto& c, const auto& v) { c.profile_digest = std::string(60, 'b') + (v + "bbbb").substr(0, 4); },
      [](auto& c, const auto& v) { c.input_abi_digest = std::string(60, 'c') + (v + "cccc").substr(0, 4); },
      [](auto& c, const auto& v) { c.output_abi_digest = std::string(60, 'd') + (v + "dddd").substr(0, 4); }};
  holds("identity follows content", 3000, [&] {
    TargetContractRef a = base, b = base;
    for (TargetContractRef* c : {&a, &b}) {
      const int count = *rc::gen::inRange(0, 4);
      for (int i = 0; i < count; ++i)
        edits[*rc::gen::inRange<std::size_t>(0, edits.size())](*c, std::to_string(*rc::gen::inRange(1, 20)));
    }
    const auto legal = [](const TargetContractRef& c) {
      try {
        check(c, 2);
        return true;
      } catch (const ContractError&) {
        return false;  // an input was added twice, or none is left
      }
    };
    RC_PRE(legal(a) && legal(b));
    RC_ASSERT((a == b) == (contract_digest(a) == contract_digest(b)));
    // The same text with other white space, key order, decimals and order of tolerances.
    json spelled = to_json(a, 2);
    std::reverse(spelled["tolerances"].begin(), spelled["tolerances"].end());
    for (json& t : spelled["tolerances"])
      for (const char* key : {"atol", "rtol"})
        if (t[key].get<std::string>().find('.') != std::string::npos) t[key] = t[key].get<std::string>() + "00";
    std::string text = "{\n";
    for (auto it = spelled.rbegin(); it != spelled.rend(); ++it)
      text += json(it.key()).dump() + " : " + it->dump(3) + (std::next(it) == spelled.rend() ? "\n}" : ",\n");
    RC_ASSERT(contract_digest(contract_from_json(parse_strict(text, "contract"))) == contract_digest(a));
  });
}

}  // namespace
}  // namespace assay
