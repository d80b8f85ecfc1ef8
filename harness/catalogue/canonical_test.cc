// Runs fixtures/identity_vectors.json, and refuses what has no identity.
#include "harness/catalogue/canonical.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "harness/case/json.hpp"
#include "harness/case/rapid_test.hpp"

namespace assay {
namespace {

using nlohmann::json;

json vectors() {
  std::ifstream file(ASSAY_FIXTURES "/identity_vectors.json");
  std::ostringstream text;
  text << file.rdbuf();
  return parse_strict(text.str(), "fixtures/identity_vectors.json");
}

TEST(Identity, EnvelopesAndDigestsAreTheGoldenOnesAndAllDistinct) {
  std::set<std::string> digests;
  int specified = 0;
  for (const json& v : vectors()) {
    SCOPED_TRACE(v.at("name"));
    const std::string domain = v.at("domain");
    EXPECT_EQ(canonical_envelope(domain, v.at("payload"), v.at("schema")), v.at("envelope").get<std::string>());
    EXPECT_EQ(envelope_digest(domain, v.at("payload"), v.at("schema")), v.at("sha256").get<std::string>());
    EXPECT_TRUE(is_digest(v.at("sha256").get<std::string>()));
    EXPECT_TRUE(digests.insert(v.at("sha256")).second);
    specified += v.at("from") == "the specification";
  }
  EXPECT_EQ(specified, 16);
}

TEST(Identity, TheContractOfThePublicImplementationIs708BytesLong) {
  const json v = vectors().at(0);
  EXPECT_EQ(canonical_envelope("cacheon.target-contract", v.at("payload"), 1).size(), 708u);
}

TEST(Identity, SpellingOfTheTextThatWasReadDoesNotMatter) {
  const char* spellings[] = {R"({"a":"/\u00e9","b":{"y":1,"x":[true,null]}})",
                             "{ \"b\" : {\"x\":[ true,\tnull ], \"y\":1},\n \"a\" : \"\\/\xC3\xA9\" }"};
  EXPECT_EQ(envelope_digest("d", parse_strict(spellings[0], "0"), 1),
            envelope_digest("d", parse_strict(spellings[1], "1"), 1));
}

TEST(Identity, WhatHasNoCanonicalFormIsRefused) {
  json deep = 1;
  for (std::size_t i = 0; i <= json_depth_limit; ++i) deep = json::array({deep});
  for (const json& payload : {json{{"v", 0.02}}, json{{"v", {1, {{"w", 1.0}}}}}, json{{"v", std::uint64_t{1} << 63u}},
                              json(std::nan("")), json("\xC3"), json{{"\xED\xA0\x80", 1}}, json::binary({1, 2}), deep})
    EXPECT_THROW((void)canonical_envelope("d", payload, 1), JsonError) << payload.type_name();
  EXPECT_THROW((void)parse_strict(R"({"v":1,"v":1})", "text"), JsonError);
}

TEST(Identity, ADomainOrSchemaThatCouldForgeTheEnvelopeIsRefused) {
  for (const char* domain : {"", "Gks", ".x", "-x", "a\"", "a b", "a,\"payload\":1", "a\n", "\xC3\xA9"})
    EXPECT_THROW((void)envelope_digest(domain, json::object(), 1), JsonError) << domain;
  for (const int schema : {0, -1}) EXPECT_THROW((void)envelope_digest("a", json::object(), schema), JsonError);
}

TEST(Identity, ADigestIsSixtyFourLowerCaseHexDigitsAndNotZero) {
  const std::string good = envelope_digest("d", 1, 1);
  EXPECT_TRUE(is_digest(good));
  for (const std::string& bad : {std::string(64, '0'), std::string(64, 'A'), good.substr(1), good + "0", std::string(),
                                 std::string(63, '1') + "g"})
    EXPECT_FALSE(is_digest(bad)) << bad;
}

TEST(Identity, APayloadReadsBackAndDistinctPayloadsHaveDistinctEnvelopes) {
  holds("identity is injective", 2000, [] {
    const auto text = rc::gen::container<std::string>(rc::gen::inRange<char>(1, 127));
    const json x = {{*text, *rc::gen::arbitrary<std::int64_t>()}, {*text, *text}};
    const json y = {{*text, *rc::gen::arbitrary<std::int64_t>()}, {*text, *text}};
    const std::string envelope = canonical_envelope("d", x, 1);
    RC_ASSERT(parse_strict(envelope, "envelope").at("payload") == x);
    RC_ASSERT((x == y) == (envelope == canonical_envelope("d", y, 1)));
  });
}

}  // namespace
}  // namespace assay
