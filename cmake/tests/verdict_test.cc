// verdict.json as a release engineer meets it: what a gate writes, and what `assay verdict verify` says of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <random>
#include <string>

#include "cmake/tests/program.hpp"
#include "harness/case/digest.hpp"
#include "harness/case/json.hpp"

namespace assay {
namespace {

using nlohmann::json;

class Gate : public Program {
 protected:
  int gate(const std::string& library, Words more = {}) const {
    Words words = {"check", library, "--gate", "--dtype", "fp32", "--report", report()};
    words.insert(words.end(), more.begin(), more.end());
    return run(std::move(words));
  }
  int verify(Words more = {}) const {
    more.insert(more.begin(), {"verdict", "verify", report()});
    return run(std::move(more));
  }
  [[nodiscard]] json verdict() const { return parse_strict(text_of(report() + "/verdict.json"), "verdict.json"); }
  void expect_refused(const char* sentence) const {
    EXPECT_EQ(verify(), 5) << out() << err();
    EXPECT_EQ(out(), "");
    const std::string said = err();
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
    EXPECT_NE(said.find(sentence), std::string::npos) << said;
  }
};

TEST_F(Gate, WritesAVerdictThatVerifiesAndHoldsAgainstPins) {
  ASSERT_EQ(gate(ASSAY_FP32_ONLY), 0) << out() << err();
  const json v = verdict();
  EXPECT_EQ(v.at("verdict"), "PASS");
  const std::string digest = v.at("digest"), sha256 = sha256_of_file(ASSAY_FP32_ONLY);
  EXPECT_NE(out().find("verdict digest " + digest), std::string::npos) << out();
  EXPECT_EQ(v.at("reproducible").at("candidate").at("sha256"), sha256);
  EXPECT_EQ(v.at("run").at("results").at("sha256"), sha256_of_file(results()));
  const json& call = v.at("run").at("receipts").at("calls").at(0);
  for (const char* kind : {"fired", "completed", "replayed"}) EXPECT_GE(call.at(kind), 1) << kind;

  ASSERT_EQ(run({"contract", "activation.silu_and_mul", "--json"}), 0);
  const std::string contract = parse_strict(out(), "contract").at("contract_digest");
  const std::string other(64, 'a');
  const auto pin = [&](const std::string& slot, const std::string& value) { return slot + "=" + value; };
  EXPECT_EQ(verify(), 0) << err();
  EXPECT_NE(out().find("PASS"), std::string::npos);
  EXPECT_EQ(verify({"--expect-digest", digest, "--expect-candidate", sha256, "--library", ASSAY_FP32_ONLY,
                    "--expect-contract", pin("activation.silu_and_mul", contract)}),
            0)
      << err();
  EXPECT_EQ(verify({"--expect-digest", other}), 5);
  EXPECT_EQ(verify({"--expect-candidate", other}), 5);
  EXPECT_EQ(verify({"--expect-suite", other}), 5);
  EXPECT_EQ(verify({"--expect-contract", pin("activation.silu_and_mul", other)}), 5);
  EXPECT_EQ(verify({"--expect-contract", pin("norm.rmsnorm", contract)}), 5);
  EXPECT_EQ(verify({"--library", ASSAY_HOST_KERNELS}), 5);
  EXPECT_EQ(verify({"--library", "/nonexistent"}), 2);
  EXPECT_EQ(verify({"--expect-contract", "norm.rmsnorm"}), 2);
  EXPECT_EQ(verify({"--expect-digest", "abc"}), 2);
  EXPECT_EQ(run({"verdict", "verify", report() + "/verdict.json"}), 0) << "the file itself may be named";
  EXPECT_EQ(run({"verdict", "verify", "/nonexistent"}), 2);

  // The same again, on another number of judges.
  const std::string reproducible = v.at("reproducible_digest");
  ASSERT_EQ(gate(ASSAY_FP32_ONLY, {"--jobs", "1"}), 0) << out() << err();
  EXPECT_EQ(verdict().at("reproducible_digest"), reproducible);

  // No verdict stands beside results that it is not of.
  EXPECT_EQ(run({"check", ASSAY_FP32_ONLY, "--dtype", "fp32", "--report", report()}), 0) << err();
  EXPECT_FALSE(std::filesystem::exists(report() + "/verdict.json"));
  EXPECT_EQ(verify(), 2);
}

TEST_F(Gate, AnAbsentGpuIsNoDecisionAndTheVerdictSaysSo) {
  EXPECT_EQ(gate(ASSAY_ABSENT_GPU, {"--device-ordinal", "99"}), 3) << out() << err();
  EXPECT_EQ(verdict().at("verdict"), "NO_DECISION");
  EXPECT_NE(verdict().at("why").get<std::string>().find("no_device"), std::string::npos);
  EXPECT_EQ(verify(), 3) << err();
}

TEST_F(Gate, WithRulesLeftOutIsNoPass) {
  EXPECT_EQ(gate(ASSAY_FP32_ONLY, {"--rule", "receipt.fired", "--rule", "graph.captures"}), 3) << out() << err();
  EXPECT_NE(verdict().at("why").get<std::string>().find("left out by --rule"), std::string::npos) << verdict();
  EXPECT_EQ(verify(), 3) << err();
}

#ifdef ASSAY_DOES_NOTHING
TEST_F(Gate, AVariantThatNeverRunsIsTheCandidatesFailure) {
  EXPECT_EQ(gate(ASSAY_DOES_NOTHING), 1) << out() << err();
  const json v = verdict();
  bool never = false;
  for (const json& unit : v.at("reproducible").at("outcomes"))
    never = never || unit.at("rules").at("receipt.fired").value("reason", "") == "never_executed";
  EXPECT_TRUE(never) << v;
  EXPECT_EQ(verify(), 1) << err();
}
#endif

TEST_F(Gate, GoldenVerdictsExitAsTheirRunsDidAndEditsOfThemWithFive) {
  for (const auto& [name, exit_code] : {std::pair("pass", 0), {"fail", 1}, {"no_decision", 3}}) {
    const std::string golden = ASSAY_FIXTURES "/verdict_" + std::string(name);
    std::filesystem::remove_all(report());
    std::filesystem::copy(golden, report());
    EXPECT_EQ(verify(), exit_code) << err();
    std::mt19937_64 draw(7);
    for (const char* file : {"verdict.json", "results.jsonl"})
      for (int i = 0; i < 10; ++i) {
        std::string text = text_of(golden + "/" + file);
        char& byte = text[draw() % text.size()];
        byte = static_cast<char>(byte ^ (1 << draw() % 8));
        std::ofstream(report() + "/" + file, std::ios::binary) << text;
        expect_refused(file);
        std::filesystem::copy_file(golden + "/" + file, report() + "/" + file,
                                   std::filesystem::copy_options::overwrite_existing);
      }
    std::ofstream(report() + "/receipts.jsonl", std::ios::app) << "{}\n";
    expect_refused("receipts.jsonl, line ");
    std::filesystem::remove(results());
    EXPECT_EQ(verify(), 2) << "what is missing was named wrongly: " << err();
  }
}

TEST_F(Gate, ARunThatWasInterruptedLeavesNoVerdict) {
  const pid_t pid = start({"check", ASSAY_HOST_KERNELS, "--gate", "--slot", "norm.rmsnorm", "--report", report()});
  const auto patience = steady_clock::now() + std::chrono::seconds(60);
  while (lines() < 40 && steady_clock::now() < patience) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  kill(pid, SIGINT);
  EXPECT_EQ(finish(pid), 3) << err();
  EXPECT_FALSE(std::filesystem::exists(report() + "/verdict.json"));
  expect_nothing_left();
}

}  // namespace
}  // namespace assay
