#include "harness/result/gate.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>

#include "harness/result/forged_test.hpp"

namespace assay {
namespace {

using nlohmann::json;

std::string refusal(const json& value) {
  try {
    (void)gate_from(value);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Gate, ReadsBack) {
  EXPECT_EQ(gate_from(to_json(forged_gate())), forged_gate());
  GateRecord bare = forged_gate();
  bare.waivers.clear();
  bare.waivers_sha256.clear();
  bare.references.clear();
  bare.targets.clear();
  EXPECT_EQ(gate_from(to_json(bare)), bare);
}

TEST(Gate, EveryEditIsRefusedWithTheKeyItHit) {
  struct Edit {
    const char* name;
    std::function<void(json&)> edit;
    const char* word;
  };
  const std::vector<Edit> edits = {
      {"unknown key", [](json& j) { j["note"] = 1; }, "note"},
      {"missing key", [](json& j) { j.erase("rules"); }, "rules"},
      {"a contract that is no digest", [](json& j) { j["contracts"]["norm.rmsnorm"] = "abc"; }, "contracts"},
      {"contracts a list", [](json& j) { j["contracts"] = json::array(); }, "contracts"},
      {"a variant's slot without a contract", [](json& j) { j["contracts"].erase("norm.rmsnorm"); }, "contract"},
      {"the same variant twice", [](json& j) { j["variants"].push_back(j["variants"][0]); }, "variants"},
      {"a variant with a key more", [](json& j) { j["variants"][0]["x"] = 1; }, "variant"},
      {"graph_safe a number", [](json& j) { j["variants"][0]["graph_safe"] = 1; }, "graph_safe"},
      {"a digest in capitals", [](json& j) { j["program"] = std::string(64, 'A'); }, "program"},
      {"a count under 0", [](json& j) { j["rules_left_out"] = -1; }, "rules_left_out"},
      {"a waiver for no reason", [](json& j) { j["waivers"][0]["reason"] = "bad luck"; }, "bad luck"},
      {"waivers of no file", [](json& j) { j["waivers_sha256"] = ""; }, "waivers"},
      {"a list", [](json& j) { j = json::array(); }, "object"},
  };
  for (const Edit& e : edits) {
    json j = to_json(forged_gate());
    e.edit(j);
    EXPECT_NE(refusal(j).find(e.word), std::string::npos) << e.name << ": " << refusal(j);
  }
}

TEST(Gate, TheSuiteChangesWithWhateverJudgesAndWithNothingElse) {
  const std::string before = suite_digest(forged_gate());
  const auto after = [](const std::function<void(GateRecord&)>& change) {
    GateRecord g = forged_gate();
    change(g);
    return suite_digest(g);
  };
  const std::string other(64, 'e');
  EXPECT_NE(after([&](GateRecord& g) { g.contracts["norm.rmsnorm"] = other; }), before);
  EXPECT_NE(after([&](GateRecord& g) { g.rules = other; }), before);
  EXPECT_NE(after([&](GateRecord& g) { g.program = other; }), before);
  EXPECT_NE(after([&](GateRecord& g) { g.worker = other; }), before);
  EXPECT_NE(after([&](GateRecord& g) { g.references = other; }), before);
  EXPECT_EQ(after([](GateRecord& g) { g.waivers.clear(); }), before);
  EXPECT_EQ(after([](GateRecord& g) { g.variants.clear(); }), before);
}

}  // namespace
}  // namespace assay
