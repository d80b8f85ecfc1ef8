#include "harness/result/records.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <stdexcept>

#include "harness/case/json.hpp"
#include "harness/case/rapid_test.hpp"
#include "harness/result/forged_test.hpp"

namespace assay {
namespace {

using nlohmann::json;

std::string refusal(RunResults& results, const std::string& line) {
  try {
    add_line(results, line);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "accepted";
}

RunResults started() {
  RunResults results;
  add_line(results, canonical(to_json(forged_run())));
  return results;
}

TEST(Records, RunReadsBack) {
  RunRecord run = forged_run();
  run.seed = std::numeric_limits<std::uint64_t>::max();
  RunResults read;
  add_line(read, canonical(to_json(run)));
  EXPECT_EQ(to_json(read.run), to_json(run));
  EXPECT_EQ(read.run.seed, run.seed);
  EXPECT_EQ(read.run.devices, run.devices);
  EXPECT_FALSE(to_json(run).contains("nccl"));
}

TEST(Records, TheNcclOfCollectivesIsEvidence) {
  RunRecord run = forged_run();
  run.nccl = "/usr/lib/libnccl.so.2";
  run.nccl_version = "2.28.9";
  run.nccl_sha256 = std::string(64, 'a');
  RunResults read;
  add_line(read, canonical(to_json(run)));
  EXPECT_EQ(to_json(read.run), to_json(run));
  EXPECT_EQ(read.run.nccl, run.nccl);
}

TEST(Records, WhatAGateAddsReadsBackAndIsReadStrictly) {
  RunRecord run = forged_run();
  run.gate = forged_gate();
  RunResults read;
  add_line(read, canonical(to_json(run)));
  EXPECT_EQ(to_json(read.run), to_json(run));
  EXPECT_TRUE(is_gate(read.run));
  json line = to_json(run);
  line["gate"]["program"] = "unknown";
  RunResults other;
  EXPECT_NE(refusal(other, canonical(line)).find("gate"), std::string::npos);
}

TEST(Records, RuleCasesAndEndReadBack) {
  RunResults read = started();
  RuleRecord rule = forged_rule("number.bound", Verdict::numerical_pass);
  rule.warnings = {"one", "two"};
  const CasesRecord cases{{"norm.rmsnorm", "rows", "host", "fp16", {}}, 96, 3};
  const EndRecord end{"NO_DECISION", 3, 1.25, "interrupted"};
  for (const json& j : {to_json(rule), to_json(cases), to_json(end)}) add_line(read, canonical(j));
  EXPECT_EQ(to_json(read.rules.at(0)), to_json(rule));
  EXPECT_EQ(to_json(read.cases.at(0)), to_json(cases));
  EXPECT_EQ(to_json(read.end), to_json(end));
}

TEST(Records, FailureReadsBackWithNumbersThatJsonLacks) {
  FailureRecord failure = forged_failure("number.reference");
  failure.worst = json::array({worst_cell("out(3, 5)", std::nan(""), 1.5, 0.25),
                               worst_cell("out(3, 6)", -std::numeric_limits<double>::infinity(), 1e-300, 0.25)});
  RunResults read = started();
  add_line(read, canonical(to_json(failure)));
  EXPECT_EQ(to_json(read.failures.at(0)), to_json(failure));
  EXPECT_EQ(read.failures[0].worst[0]["actual"], "nan");
  EXPECT_EQ(read.failures[0].worst[1]["actual"], "-inf");
}

TEST(Records, TrialsAreCountedBySlotAndDevice) {
  RunResults read = started();
  for (const char* device : {"host", "cuda", "host"}) {
    const TrialRecord trial{{"norm.rmsnorm", "rows", device, "fp16", {}}, "eager", "ab", 1.5, {{"w.x", Verdict::pass}}};
    add_line(read, canonical(to_json(trial)));
  }
  EXPECT_EQ(read.trials, 3);
  ASSERT_EQ(read.times.size(), 2U);
  EXPECT_EQ(read.times[0].trials, 2);
  EXPECT_DOUBLE_EQ(read.times[0].milliseconds, 3.0);
}

TEST(Records, EmptyFieldsOfTheSubjectAreLeftOut) {
  RuleRecord rule = forged_rule("write.no_return", Verdict::pass);
  rule.subject.variant.clear();
  const json j = to_json(rule);
  EXPECT_FALSE(j.contains("variant"));
  RunResults read = started();
  add_line(read, canonical(j));
  EXPECT_EQ(read.rules[0].subject.variant, "");
}

TEST(Records, BytesOfACandidateNeverMakeALineThatCannotBeWritten) {
  holds("any bytes in a failure can be written and read", 300, [](const std::string& bytes) {
    FailureRecord failure = forged_failure("number.reference");
    failure.worker_output = failure.text = bytes;
    failure.trial["variant"] = bytes;
    RunResults read = started();
    const std::string line = canonical(to_json(failure));
    RC_ASSERT(line.find('\n') == std::string::npos);
    add_line(read, line);
    RC_ASSERT(to_json(read.failures.at(0)) == to_json(failure));
  });
}

// Each edit of a legal line, and a word that the refusal must contain.
struct Edit {
  const char* name;
  json line;
  std::function<void(json&)> edit;
  const char* word;
};

TEST(Records, EveryEditOfTheSchemaIsRefusedWithTheKeyItHit) {
  const json rule = to_json(forged_rule("number.bound", Verdict::pass));
  const json failure = to_json(forged_failure("number.bound"));
  const json cases = to_json(CasesRecord{{"s", "v", "host", "fp16", {}}, 96, 3});
  const json end = to_json(EndRecord{"PASS", 0, 1, ""});
  const json trial = to_json(TrialRecord{{"s", "v", "host", "fp16", {}}, "eager", "ab", 1.5, {{"a.b", Verdict::pass}}});
  const std::vector<Edit> edits = {
      {"unknown key", rule, [](json& j) { j["note"] = "x"; }, "note"},
      {"missing key", rule, [](json& j) { j.erase("judged"); }, "judged"},
      {"no rule", rule, [](json& j) { j.erase("rule"); }, "rule"},
      {"empty rule", rule, [](json& j) { j["rule"] = ""; }, "rule"},
      {"empty field", rule, [](json& j) { j["slot"] = ""; }, "slot"},
      {"verdict of another case", rule, [](json& j) { j["verdict"] = "pass"; }, "verdict"},
      {"unknown reason", rule, [](json& j) { j["reason"] = "bad luck"; }, "bad luck"},
      {"float for a count", rule, [](json& j) { j["judged"] = 5.0; }, "judged"},
      {"negative count", rule, [](json& j) { j["judged"] = -1; }, "judged"},
      {"count over 63 bits", rule, [](json& j) { j["judged"] = 1ull << 63u; }, "judged"},
      {"more evidence than judged", rule, [](json& j) { j["evidence"] = 1000; }, "evidence"},
      {"warnings not texts", rule, [](json& j) { j["warnings"] = json::array({1}); }, "warnings"},
      {"text a number", rule, [](json& j) { j["text"] = 1; }, "text"},
      {"worst cell with a number", failure, [](json& j) { j["worst"][0]["actual"] = 1.0; }, "worst"},
      {"worst cell with a key more", failure, [](json& j) { j["worst"][0]["x"] = "1"; }, "worst"},
      {"worst cell a text", failure, [](json& j) { j["worst"][0] = "out(0)"; }, "worst"},
      {"worst an object", failure, [](json& j) { j["worst"] = json::object(); }, "worst"},
      {"trial a text", failure, [](json& j) { j["trial"] = "eager"; }, "trial"},
      {"minimal a number", failure, [](json& j) { j["minimal"] = 1; }, "minimal"},
      {"negative seconds", failure, [](json& j) { j["seconds_until_shrunk"] = -0.5; }, "seconds_until_shrunk"},
      {"cases with a rule", cases, [](json& j) { j["rule"] = "a.b"; }, "rule"},
      {"more outside than drawn", cases, [](json& j) { j["outside_domain"] = 97; }, "outside_domain"},
      {"PASS with exit 1", end, [](json& j) { j["exit_code"] = 1; }, "exit code"},
      {"unknown run verdict", end, [](json& j) { j["verdict"] = "VACUOUS"; }, "VACUOUS"},
      {"exit code 5", end, [](json& j) { j["exit_code"] = 5; }, "exit_code"},
      {"verdict a list", trial, [](json& j) { j["judgements"]["a.b"] = json::array(); }, "judgements"},
      {"judgements a list", trial, [](json& j) { j["judgements"] = json::array(); }, "judgements"},
      {"a pass that is the candidate's", rule, [](json& j) { j["attribution"] = "candidate"; }, "attribution"},
      {"a failure that is nobody's", failure, [](json& j) { j["attribution"] = "none"; }, "attribution"},
      {"attribution of no such name", end, [](json& j) { j["attribution"] = "luck"; }, "attribution"},
      {"unknown kind", rule, [](json& j) { j["kind"] = "rules"; }, "rules"},
      {"kind not text", rule, [](json& j) { j["kind"] = 1; }, "kind"},
  };
  for (const Edit& e : edits) {
    json line = e.line;
    RunResults results = started();
    EXPECT_EQ(refusal(results, canonical(line)), "accepted") << e.name;
    e.edit(line);
    results = started();
    const std::string why = refusal(results, canonical(line));
    EXPECT_NE(why, "accepted") << e.name;
    EXPECT_NE(why.find(e.word), std::string::npos) << e.name << ": " << why;
    EXPECT_TRUE(results.rules.empty() && results.failures.empty() && results.cases.empty() && !results.has_end &&
                results.trials == 0)
        << e.name;
  }
}

TEST(Records, OrderOfLinesIsChecked) {
  RunResults results;
  const std::string rule = canonical(to_json(forged_rule("a.b", Verdict::pass)));
  const std::string run = canonical(to_json(forged_run()));
  EXPECT_NE(refusal(results, rule).find("first line"), std::string::npos);
  EXPECT_EQ(refusal(results, run), "accepted");
  EXPECT_NE(refusal(results, run).find("second run"), std::string::npos);
  EXPECT_EQ(refusal(results, rule), "accepted");
  EXPECT_NE(refusal(results, rule).find("second rule"), std::string::npos);
  EXPECT_EQ(refusal(results, canonical(to_json(EndRecord{"PASS", 0, 1, ""}))), "accepted");
  EXPECT_NE(refusal(results, rule).find("end line"), std::string::npos);
}

TEST(Records, AResumeLineKeepsFinishedUnitsAndFindings) {
  RunResults results = started();
  const auto add = [&](const json& j) { return refusal(results, canonical(j)); };
  const auto named = [](auto record, const char* dtype) {
    record.subject.dtype = dtype;
    return to_json(record);
  };
  for (const char* dtype : {"fp16", "bf16"}) EXPECT_EQ(add(named(forged_rule("a.b", Verdict::pass), dtype)), "accepted");
  EXPECT_EQ(add(named(forged_failure("a.fails"), "fp16")), "accepted");
  EXPECT_EQ(add(named(forged_failure("a.fails"), "bf16")), "accepted");
  EXPECT_EQ(add(named(forged_failure("a.killed", Reason::killed), "bf16")), "accepted");
  EXPECT_EQ(add(to_json(CasesRecord{{"norm.rmsnorm", "rows", "host", "fp16", {}}, 96, 3})), "accepted");
  EXPECT_NE(add(to_json(ResumeRecord{"2024-06-07T08:09:10Z", 2})).find("1 have a cases line"), std::string::npos);
  EXPECT_EQ(add(to_json(ResumeRecord{"2024-06-07T08:09:10Z", 1})), "accepted");
  ASSERT_EQ(results.rules.size(), 1U) << "the unfinished unit is judged again";
  EXPECT_EQ(results.rules[0].subject.dtype, "fp16");
  EXPECT_EQ(results.failures.size(), 2U) << "the machine's is forgotten, the candidate's are not";
  EXPECT_EQ(add(named(forged_rule("a.b", Verdict::pass), "bf16")), "accepted");
  EXPECT_EQ(end_for(results).verdict, "FAIL");
  EXPECT_EQ(add(named(forged_failure("a.fails", Reason::bound), "bf16")), "accepted");
  ASSERT_EQ(results.failures.size(), 2U) << "found again: one and the same";
  EXPECT_EQ(results.failures[1].reason, Reason::bound);
  EXPECT_EQ(results.failures[0].subject.dtype, "fp16");
  EXPECT_NE(add(named(forged_rule("a.b", Verdict::pass), "fp16")).find("second rule"), std::string::npos);
}

TEST(Records, AnotherSchemaIsRefusedBeforeItsKeysAre) {
  json run = to_json(forged_run());
  run["schema"] = 2;
  run["new_key"] = 1;
  RunResults results;
  EXPECT_NE(refusal(results, canonical(run)).find("schema 1"), std::string::npos);
}

TEST(Records, WhatIsNoStrictJsonIsRefused) {
  RunResults results = started();
  for (const char* line : {"", " ", "{}", "[]", "null", "{\"kind\":\"rule\"", "{\"kind\":\"end\",\"kind\":\"end\"}",
                           "{\"kind\":\"end\"}x"}) {
    EXPECT_NE(refusal(results, line), "accepted") << line;
  }
}

TEST(Records, LinesSayWhoseTheirVerdictIsAndOldLinesMayNot) {
  RuleRecord killed = forged_rule("a.b", Verdict::no_decision);
  killed.reason = Reason::killed;
  EXPECT_EQ(to_json(killed)["attribution"], "infrastructure");
  EXPECT_EQ(to_json(forged_rule("a.b", Verdict::fail))["attribution"], "candidate");
  EXPECT_EQ(to_json(forged_failure("a.b"))["attribution"], "candidate");
  EXPECT_EQ(to_json(EndRecord{"NO_DECISION", 4, 1, ""})["attribution"], "validator");
  json line = to_json(killed);
  line.erase("attribution");
  RunResults read = started();
  EXPECT_EQ(refusal(read, canonical(line)), "accepted");
}

TEST(Records, OneRuleCannotJudgeATrialTwice) {
  const TrialRecord trial{
      {"s", "v", "host", "fp16", {}}, "eager", "ab", 1, {{"a", Verdict::pass}, {"a", Verdict::fail}}};
  EXPECT_THROW((void)to_json(trial), std::invalid_argument);
}

}  // namespace
}  // namespace assay
