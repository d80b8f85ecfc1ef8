#include "harness/case/digest.hpp"

#include <gtest/gtest.h>

#include "harness/case/json.hpp"

namespace assay {
namespace {

using nlohmann::json;

TEST(Digest, Sha256AgreesWithTheStandardsVectors) {
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

// spec/routing-and-targets.md 11.3, golden vectors.
TEST(Digest, IdentityAgreesWithTheGoldenVectorsOfTheSpecification) {
  const json empty = json::object();
  EXPECT_EQ(identity_digest("gks.test", empty, 1), "ceb0afcd7009f1681dc66e9e4bf07a7dcf69b9eed70c71b5772d30da33f86c20");
  EXPECT_EQ(identity_digest("gks.test2", empty, 1), "c89613f2d14fc3d09347890d3c020b6f65cdcdf6463eb2976596017c5d889fe3");
  EXPECT_EQ(identity_digest("gks.test", empty, 2), "4edd95987c7c2737f3dff776f1b1006adaefb5df0fd3ccbf8a2607e9cf9094e0");
  const json mixed = {{"b", {1, true, nullptr}}, {"a", "\xC3\xA9\n\"/\x7F"}, {"A", -7}};
  EXPECT_EQ(identity_digest("gks.test", mixed, 1), "ca36ecb6f2e50e0e4f33fe53b76d2cbfbab4547ff1d254a04486440213d4140b");
  EXPECT_EQ(identity_digest("gks.test", {{"v", 1}}, 1),
            "610d2b46f8492ea0830620058f68ba30157b6c40b403e0684e5e143f4049912e");
  EXPECT_EQ(identity_digest("gks.test", {{"v", true}}, 1),
            "0ea993c880012e70c91d24239512d2b7ede166d7e7ce3fba837a0a99c9eccbda");
}

TEST(Digest, AFloatOrAnUnsignedOverflowHasNoIdentity) {
  EXPECT_THROW((void)identity_digest("gks.test", {{"v", 0.02}}, 1), JsonError);
  EXPECT_THROW((void)identity_digest("gks.test", {{"v", {1, {{"w", 1.0}}}}}, 1), JsonError);
  EXPECT_THROW((void)identity_digest("gks.test", {{"v", std::uint64_t{1} << 63u}}, 1), JsonError);
}

TEST(Digest, ADomainThatCouldForgeTheEnvelopeIsRefused) {
  for (const char* domain : {"", "Gks", ".x", "a\"", "a b", "a,\"payload\":1", "\xC3\xA9"}) {
    EXPECT_THROW((void)identity_digest(domain, json::object(), 1), JsonError) << domain;
  }
  EXPECT_THROW((void)identity_digest("a", json::object(), 0), JsonError);
}

}  // namespace
}  // namespace assay
