// Case and Trial as data: what is written is read back, digests are stable, bad input is refused in one sentence.
#include "harness/case/case.hpp"

#include <nlohmann/json.hpp>
#include <set>

#include "harness/case/json.hpp"
#include "harness/case/rapid_test.hpp"

namespace assay {
namespace {

using nlohmann::json;

Case arbitrary() {
  const auto name = [] { return *rc::gen::element<std::string>("a", "rows", "hidden", "x", "\u00fc\"\\"); };
  Case c;
  c.slot = name();
  c.dtype = *rc::gen::element(DType::f32, DType::f16, DType::bf16, DType::f64);
  for (int i = *rc::gen::inRange(0, 4); i > 0; --i)
    c.dims[name()] = *rc::gen::oneOf(rc::gen::inRange<std::int64_t>(0, 9000), rc::gen::just(std::int64_t{1} << 40));
  for (int i = *rc::gen::inRange(0, 3); i > 0; --i) c.knobs[name()] = name();
  for (int i = *rc::gen::inRange(0, 3); i > 0; --i)
    c.layouts[name()] = {*rc::gen::inRange<std::int64_t>(0, 1 << 20), *rc::gen::inRange<std::int64_t>(0, 1 << 20)};
  for (int i = *rc::gen::inRange(0, 3); i > 0; --i)
    c.scalars[name()] =
        *rc::gen::oneOf(rc::gen::element(0.0, -0.0, 1e-6, 0.1, 5e-324, 1.7976931348623157e308, 4.0, 9007199254740993.0),
                        rc::gen::map(rc::gen::arbitrary<std::int32_t>(), [](std::int32_t v) { return v / 1024.0; }));
  c.recipe = name();
  c.seed = *rc::gen::oneOf(rc::gen::arbitrary<std::uint64_t>(), rc::gen::just(~std::uint64_t{0}));
  c.early = *rc::gen::arbitrary<bool>();
  c.block_seed = *rc::gen::arbitrary<std::uint64_t>();
  c.far = *rc::gen::arbitrary<bool>();
  c.padded = *rc::gen::arbitrary<bool>();
  return c;
}

TrialPart arbitrary_part() {
  TrialPart part;
  part.drive = static_cast<Drive>(*rc::gen::inRange(0, static_cast<int>(kDrives)));
  for (std::size_t i = 0; i < cases_of(part.drive); ++i) part.cases.push_back(arbitrary());
  return part;
}

Case one() {
  Case c;
  c.slot = "norm.rmsnorm";
  c.dtype = DType::bf16;
  c.dims = {{"rows", 7}, {"hidden", 129}};
  c.knobs = {{"lead", "2d"}};
  c.layouts["x"] = {8, 512};
  c.scalars = {{"eps", 1e-6}};
  c.recipe = "tag";
  c.seed = 0xFFFFFFFFFFFFFFFFULL;
  c.early = true;
  c.block_seed = 3;
  return c;
}

Trial one_trial() {
  Trial t;
  t.variant = "simple";
  t.part = {Drive::relocated, {one(), one()}};
  t.history.push_back({Drive::eager, {one()}});
  return t;
}

template <class Read>
std::string refusal(Read&& read) {
  try {
    read();
    return "accepted";
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
}

TEST(CaseJson, WhatIsWrittenIsReadBack) {
  holds("case round trip", 500, [] {
    const Case c = arbitrary();
    const std::string text = canonical(to_json(c));
    const Case again = case_from_json(parse_strict(text, "case"));
    RC_ASSERT(again == c);
    RC_ASSERT(canonical(to_json(again)) == text);
    RC_ASSERT(digest(again) == digest(c));
  });
}

TEST(TrialJson, WhatIsWrittenIsReadBack) {
  holds("trial round trip", 200, [] {
    Trial t;
    t.variant = *rc::gen::element<std::string>("simple", "");
    t.device = *rc::gen::element(DeviceType::host, DeviceType::cuda);
    for (int i = *rc::gen::inRange(0, 4); i > 0; --i) t.history.push_back(arbitrary_part());
    t.part = arbitrary_part();
    const Trial again = trial_from_json(parse_strict(canonical(to_json(t)), "trial"));
    RC_ASSERT(again == t);
    RC_ASSERT(digest(again) == digest(t));
  });
}

TEST(CaseDigest, IsTheSameOnEveryMachineAndInEveryVersion) {
  // Corpora and results name trials by it: a change here is a change of format.
  EXPECT_EQ(canonical(to_json(one())),
            R"({"block_seed":3,"dims":{"hidden":129,"rows":7},"dtype":"bf16","early":true,"far":false,)"
            R"("knobs":{"lead":"2d"},"layouts":{"x":{"offset":512,"pad":8}},"recipe":"tag","scalars":{"eps":1e-06},)"
            R"("seed":18446744073709551615,"slot":"norm.rmsnorm"})");
  EXPECT_EQ(digest(one()), "67ecde68d181a552c329a7aba12a9b98df871f71963337b0de4ea537be58e09e");
  EXPECT_EQ(digest(one_trial()), "f456790036e58c879ce515f266829499d8fa8952f7105dc4cc6e6214f60d0d8f");
}

TEST(CaseDigest, DiffersWhereAnyFieldDoes) {
  std::vector<Case> cases(12, one());
  cases[1].slot = "norm.other";
  cases[2].dtype = DType::f16;
  cases[3].dims["rows"] = 8;
  cases[4].knobs["lead"] = "1d";
  cases[5].layouts["x"].pad = 16;
  cases[6].layouts["x"].offset = 1024;
  cases[7].scalars["eps"] = 1e-5;
  cases[8].recipe = "normal";
  cases[9].seed = 1;
  cases[10].block_seed = 4;
  cases[11].early = false;
  Case far = one();
  far.far = true;
  cases.push_back(far);
  Case padded = one();
  padded.padded = true;
  cases.push_back(padded);
  std::set<std::string> digests, texts;
  for (const Case& c : cases) {
    digests.insert(digest(c));
    texts.insert(describe(c));
  }
  EXPECT_EQ(digests.size(), cases.size());
  EXPECT_EQ(texts.size(), cases.size() - 1) << "describe() leaves the slot out and nothing else: it is a memo's key";
}

TEST(CaseJson, PaddedIsWrittenOnlyWhereItIsSo) {
  // Trials and corpora from before the field keep their digests, and are read as unpadded.
  EXPECT_FALSE(to_json(one()).contains("padded"));
  EXPECT_FALSE(case_from_json(to_json(one())).padded);
  Case padded = one();
  padded.padded = true;
  EXPECT_EQ(to_json(padded).at("padded"), true);
  EXPECT_EQ(case_from_json(to_json(padded)), padded);
  json unpadded = to_json(padded);
  unpadded["padded"] = false;
  EXPECT_EQ(case_from_json(unpadded), one());
  for (const json& wrong : {json(nullptr), json(1), json("yes")}) {
    unpadded["padded"] = wrong;
    EXPECT_EQ(refusal([&] { (void)case_from_json(unpadded); }), "the field 'padded' is not true or false");
  }
}

TEST(CaseJson, AMissingFieldIsNamed) {
  const json whole = to_json(one());
  for (const auto& item : whole.items()) {
    json cut = whole;
    cut.erase(item.key());
    EXPECT_EQ(refusal([&] { (void)case_from_json(cut); }), "the field '" + item.key() + "' is missing");
  }
  EXPECT_EQ(refusal([] { (void)case_from_json(json::array()); }), "the field 'slot' is missing");
}

TEST(CaseJson, AFieldOfAnotherTypeIsNamed) {
  const json whole = to_json(one());
  for (const auto& item : whole.items())
    for (const json& wrong : {json(nullptr), json::array({1})}) {
      json bad = whole;
      bad[item.key()] = wrong;
      const std::string said = refusal([&] { (void)case_from_json(bad); });
      EXPECT_NE(said.find("'" + item.key() + "'"), std::string::npos) << said;
    }
}

TEST(CaseJson, NumbersOutOfRangeAreRefused) {
  const auto with = [](const json::json_pointer& at, const json& value) {
    json bad = to_json(one());
    bad[at] = value;
    return refusal([&] { (void)case_from_json(bad); });
  };
  using pointer = json::json_pointer;
  EXPECT_EQ(with(pointer("/dims/rows"), -1), "the dim 'rows' is out of range");
  EXPECT_EQ(with(pointer("/dims/rows"), ~0ULL), "the dim 'rows' is out of range");
  EXPECT_EQ(with(pointer("/dims/rows"), (1LL << 40) + 1), "the dim 'rows' is out of range");
  EXPECT_EQ(with(pointer("/dims/rows"), 1.5), "the dim 'rows' is not an integer");
  EXPECT_EQ(with(pointer("/layouts/x/pad"), -8), "the layout of 'x' is out of range");
  EXPECT_EQ(with(pointer("/layouts/x/pad"), ~0ULL), "the layout of 'x' is out of range");
  EXPECT_EQ(with(pointer("/layouts/x/offset"), (1 << 20) + 1), "the layout of 'x' is out of range");
  EXPECT_EQ(with(pointer("/seed"), -1), "the field 'seed' is not an integer from 0 on");
  EXPECT_EQ(with(pointer("/scalars/eps"), "small"), "the scalar 'eps' is not a number");
  EXPECT_EQ(with(pointer("/knobs/lead"), 2), "the knob 'lead' is not a text");
  EXPECT_NE(with(pointer("/dtype"), "fp12").find("fp12"), std::string::npos);
}

TEST(TrialJson, ADriveWithTheWrongNumberOfCasesIsRefused) {
  json j = to_json(one_trial());
  j["drive"] = "eager";
  EXPECT_EQ(refusal([&] { (void)trial_from_json(j); }), "the drive 'eager' takes 1 cases, not 2");
  j["drive"] = "sideways";
  EXPECT_EQ(refusal([&] { (void)trial_from_json(j); }), "no such drive: 'sideways'");
  json deep = to_json(one_trial());
  deep["history"][0]["cases"] = json::array();
  EXPECT_EQ(refusal([&] { (void)trial_from_json(deep); }), "the drive 'eager' takes 1 cases, not 0");
  json many = to_json(one_trial());
  many["cases"] = json::array();
  for (int i = 0; i < 9; ++i) many["cases"].push_back(to_json(one()));
  EXPECT_EQ(refusal([&] { (void)trial_from_json(many); }), "the field 'cases' is not a list of at most 8");
  json device = to_json(one_trial());
  device["device"] = "abacus";
  EXPECT_NE(refusal([&] { (void)trial_from_json(device); }).find("abacus"), std::string::npos);
}

TEST(Drives, EachNameLeadsBackToItsDrive) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < kDrives; ++i) {
    const Drive drive = static_cast<Drive>(i);
    names.insert(name_of(drive));
    EXPECT_EQ(drive_from(name_of(drive)), drive);
    EXPECT_TRUE(cases_of(drive) == 1 || cases_of(drive) == 2);
  }
  EXPECT_EQ(names.size(), kDrives);
}

TEST(CaseIndex, AnUnknownDimIsAnErrorAndNotZero) {
  const Case c = one();
  EXPECT_EQ(c["rows"], 7);
  EXPECT_THROW((void)c["columns"], std::out_of_range);
}

}  // namespace
}  // namespace assay
