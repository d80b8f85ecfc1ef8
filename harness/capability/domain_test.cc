#include "harness/capability/domain.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/case/json.hpp"
#include "harness/case/rapid_test.hpp"

namespace assay {
namespace {

using nlohmann::json;

const DomainContext& sdpa() {
  static const DomainContext context{*supply_of("attention.sdpa")};
  return context;
}

std::string refusal(const std::string& capabilities) {
  try {
    (void)parse_domain(capabilities, sdpa(), GraphSafe::yes);
  } catch (const PredicateError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Domain, ARefusalIsASentenceThatNamesTheFieldAsWritten) {
  EXPECT_EQ(refusal(R"({"hed_dim": 1})"), "PE-2: field \"hed_dim\" is not in the vocabulary of call facts (spelling?)");
  EXPECT_EQ(refusal(R"({"Head-Dim": {"min": 3, "max": 2}})"), "PE-8: field \"Head-Dim\" has min 3 above max 2");
  EXPECT_EQ(refusal(R"({"quant": "int4"})"),
            "PE-10: field \"quant\" cannot be \"int4\"; it is one of dense, fp8, nvfp4, mxfp4");
  EXPECT_EQ(refusal(R"({"top_k": 4})"),
            "PE-15: field \"top_k\" is never supplied by attention.sdpa: the variant could not be selected; drop the "
            "predicate");
  EXPECT_EQ(refusal(R"({"tp": 1, "tp_size": 1})"), "PE-3: field \"tp_size\" and \"tp\" are the same field");
  EXPECT_EQ(refusal(R"({"kv_len": 1, "kv_len": 2})"), "PE-11: capabilities, at the top: key \"kv_len\" appears twice");
  EXPECT_EQ(refusal(R"({"kv_len": )").find("PE-1: capabilities, line 1, column 12: syntax error"), 0u)
      << refusal(R"({"kv_len": )");
}

TEST(Domain, ADeclarationOver64KiBIsRefusedUnread) {
  EXPECT_EQ(refusal('{' + std::string(65536, ' ') + '}').substr(0, 5), "PE-1:");
}

TEST(Domain, AMismatchIsOneLineForPeople) {
  const Domain d = parse_domain(R"({"head_dim": [64, 128], "kv_len": {"min": 2}})", sdpa(), GraphSafe::yes);
  DescriptorBuilder b;
  const Match m = match(d, b.dtype("bf16").architecture("cpu").graph_mode("eager").head_dim(96).build());
  ASSERT_EQ(m.mismatches.size(), 2u);
  EXPECT_EQ(m.mismatches[0].text(), "head_dim: 96, expected one of 64, 128");
  EXPECT_EQ(m.mismatches[1].text(), "kv_len: missing, expected at least 2");
}

TEST(Domain, AnArenaThatSuppliesMoreAcceptsMorePredicates) {
  const SlotSupply more = supply_of("attention.sdpa")->with("alignment");
  EXPECT_NO_THROW((void)parse_domain(R"({"alignment": {"min": 16}})", {more}, GraphSafe::yes));
  EXPECT_THROW((void)parse_domain(R"({"alignment": {"min": 16}})", sdpa(), GraphSafe::yes), PredicateError);
}

TEST(Domain, AStrangersSlotIsHeldToItsOwnFields) {
  const SlotSupply gelu = make_supply("mine.gelu", {"num_tokens"});
  EXPECT_NO_THROW((void)parse_domain(R"({"num_tokens": 4, "dtype": "fp32"})", {gelu}, GraphSafe::no));
  EXPECT_THROW((void)parse_domain(R"({"last_dim": 4})", {gelu}, GraphSafe::no), PredicateError);
}

TEST(Domain, AnIntersectionMayAdmitNothingAndThenMatchesNothing) {
  const Domain d = intersect(parse_domain(R"({"graph_mode": "cuda_graph"})", sdpa(), GraphSafe::yes),
                             parse_domain("{}", sdpa(), GraphSafe::no));
  EXPECT_EQ(d.fields.at("graph_mode").text(), "nothing");
  ASSERT_NE(d.empty_field(), nullptr);
  EXPECT_EQ(*d.empty_field(), "graph_mode");
  for (const char* mode : {"eager", "cuda_graph"}) {
    DescriptorBuilder b;
    EXPECT_FALSE(match(d, b.dtype("bf16").architecture("cpu").graph_mode(mode).build()).accepted());
  }
}

FieldDomain gen_set() {
  FieldDomain set;
  if (*rc::gen::arbitrary<bool>()) {
    const auto values = *rc::gen::container<std::set<std::int64_t>>(rc::gen::inRange<std::int64_t>(0, 12));
    set.allowed.emplace(values.begin(), values.end());
  } else {
    if (*rc::gen::arbitrary<bool>()) set.lo = *rc::gen::inRange<std::int64_t>(0, 12);
    if (*rc::gen::arbitrary<bool>()) set.hi = *rc::gen::inRange<std::int64_t>(0, 12);
  }
  return set;
}

TEST(Domain, AnIntersectionAdmitsExactlyWhatBothAdmit) {
  holds("intersection", 2000, [] {
    const FieldDomain a = gen_set();
    const FieldDomain b = gen_set();
    const FieldDomain both = intersect(a, b);
    RC_ASSERT(!both.allowed || (!both.lo && !both.hi));
    RC_ASSERT(both == intersect(b, a));
    for (std::int64_t v = 0; v < 13; ++v) RC_ASSERT(both.admits(v) == (a.admits(v) && b.admits(v)));
  });
}

json gen_garbage(int depth) {
  switch (*rc::gen::inRange(0, depth == 0 ? 6 : 8)) {
    case 0:
      return *rc::gen::inRange<std::int64_t>(-2, 300);
    case 1:
      return *rc::gen::arbitrary<bool>();
    case 2:
      return nullptr;
    case 3:
      return 1.5;
    case 4:
      return *rc::gen::arbitrary<std::uint64_t>();
    case 5:
      return *rc::gen::element<std::string>("", " ", "bf16", "eager", "capture", "extend", "SM_90", "dense", "x");
    case 6: {
      json list = json::array();
      const int count = *rc::gen::inRange(0, 70);
      for (int i = 0; i < count; ++i) list.push_back(i % 7 == 0 ? gen_garbage(0) : json(i));
      return list;
    }
    default: {
      json object = json::object();
      const int count = *rc::gen::inRange(0, 4);
      for (int i = 0; i < count; ++i) {
        object[*rc::gen::element<std::string>("exact", "one_of", "min", "max", "maximum")] = gen_garbage(depth - 1);
      }
      return object;
    }
  }
}

TEST(Domain, GarbageIsReadOrRefusedWithARuleAndNeverCrashes) {
  int read = 0;
  std::set<std::string> rules;
  holds("garbage", 4000, [&] {
    json capabilities = json::object();
    const int count = *rc::gen::inRange(0, 4);
    for (int i = 0; i < count; ++i) {
      capabilities[*rc::gen::element<std::string>("head_dim", "Head-Dim", "tp", "tp_size", "dtype", "dtype_name",
                                                  "phase", "graph_mode", "model", "hed_dim", "scalar.causal",
                                                  "scalar.sm_scale", "")] = gen_garbage(2);
    }
    if (*rc::gen::inRange(0, 20) == 0) capabilities = gen_garbage(1);
    const json metadata = {{"capabilities", capabilities}, {"graph_safe", true}};
    const DomainContext context{sdpa().supply, *rc::gen::element(RowForm::library, RowForm::sealed)};
    std::string direct = "read";
    std::string through_metadata = "read";
    try {
      const Domain d = parse_domain(capabilities.dump(), context, GraphSafe::yes);
      RC_ASSERT(parse_domain(d.encode(), context, GraphSafe::yes) == d);
      ++read;
    } catch (const PredicateError& error) {
      direct = error.id();
      rules.insert(direct);
      RC_ASSERT(std::string(error.what()).size() < 600u);
    }
    try {
      (void)parse_metadata(metadata.dump(), {}, context);
    } catch (const PredicateError& error) {
      through_metadata = error.id();
    }
    RC_ASSERT(direct == through_metadata);
  });
  // The generator is worth something only while it reaches both sides.
  EXPECT_GT(read, 400);
  EXPECT_GE(rules.size(), 10u);
}

TEST(Domain, TextOfArbitraryBytesNeverCrashes) {
  holds("bytes", 2000, [] {
    const auto text = *rc::gen::arbitrary<std::string>();
    try {
      (void)parse_domain("{\"phase\": " + text + "}", sdpa(), GraphSafe::no);
    } catch (const PredicateError& error) {
      RC_ASSERT(!error.id().empty());
    }
  });
}

TEST(Domain, MatchingAgreesWithABruteForceReadingInEveryOrderOfFields) {
  holds("matching", 1500, [] {
    const std::vector<std::string> names = {"head_dim", "kv_len", "num_tokens", "q_len", "tp_size"};
    std::vector<std::pair<std::string, json>> specs;
    for (const std::string& name : names) {
      const auto low = *rc::gen::inRange<std::int64_t>(0, 6);
      const auto high = *rc::gen::inRange<std::int64_t>(low, 7);
      switch (*rc::gen::inRange(0, 4)) {
        case 0:
          specs.emplace_back(name, json{{"min", low}, {"max", high}});
          break;
        case 1:
          specs.emplace_back(name, json::array({low, high}));
          break;
        case 2:
          specs.emplace_back(name, json(low));
          break;
        default:
          break;
      }
    }
    const auto text_of_order = [](const auto& list) {
      std::string text = "{";
      for (const auto& [name, spec] : list) text += (text.size() > 1 ? ",\"" : "\"") + name + "\":" + spec.dump();
      return text + "}";
    };
    const Domain domain = parse_domain(text_of_order(specs), sdpa(), GraphSafe::yes);
    auto reversed = specs;
    std::reverse(reversed.begin(), reversed.end());
    RC_ASSERT(parse_domain(text_of_order(reversed), sdpa(), GraphSafe::yes) == domain);

    DescriptorBuilder builder;
    builder.dtype("bf16").architecture("cpu").graph_mode("eager");
    std::map<std::string, std::int64_t> facts;
    for (const std::string& name : names) {
      if (*rc::gen::inRange(0, 4) == 0) continue;
      facts[name] = *rc::gen::inRange<std::int64_t>(0, 7);
      builder.set(name, facts[name]);
    }
    std::set<std::string> expected;
    for (const auto& [name, spec] : specs) {
      const auto fact = facts.find(name);
      bool inside = fact != facts.end();
      if (inside && spec.is_object()) inside = fact->second >= spec["min"] && fact->second <= spec["max"];
      if (inside && spec.is_array()) inside = fact->second == spec[0] || fact->second == spec[1];
      if (inside && spec.is_number()) inside = fact->second == spec;
      if (!inside) expected.insert(name);
    }
    const Match found = match(domain, builder.build());
    std::set<std::string> named;
    for (const Mismatch& m : found.mismatches) {
      RC_ASSERT(named.insert(m.field).second);
      RC_ASSERT((m.kind == MismatchKind::missing) == !facts.contains(m.field));
    }
    RC_ASSERT(named == expected);
    RC_ASSERT(found.accepted() == expected.empty());
  });
}

}  // namespace
}  // namespace assay
