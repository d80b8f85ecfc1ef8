#include "harness/result/verdict_file.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "harness/case/json.hpp"
#include "harness/catalogue/canonical.hpp"
#include "harness/receipt/receipt.hpp"
#include "harness/result/forged_test.hpp"
#include "harness/result/verdict_runs_test.hpp"

namespace assay {
namespace {

using nlohmann::json;

std::string refusal(const std::function<void()>& f) {
  try {
    f();
  } catch (const VerdictRefused& why) {
    return why.what();
  }
  return "accepted";
}

// A gate's run of few lines.
RunFiles forged_files(std::vector<RuleRecord> rules = {}, const GateRecord& gate = forged_gate()) {
  RunResults results;
  results.has_run = true;
  results.run = forged_run();
  results.run.gate = gate;
  for (const char* rule : {"receipt.fired", "graph.captures"}) rules.push_back(forged_rule(rule, Verdict::pass));
  results.rules = rules;
  RunFiles files;
  files.results = canonical(to_json(results.run)) + "\n";
  for (const RuleRecord& rule : rules) files.results += canonical(to_json(rule)) + "\n";
  EndRecord end = end_for(results);
  end.seconds = 1.25;
  files.results += canonical(to_json(end)) + "\n";
  Receipt fired;
  fired.kind = ReceiptKind::fired;
  fired.scope = "g1";
  fired.launch_nonce = std::string(32, 'a');
  fired.pid = 7;
  fired.rank = 0;
  fired.world_size = 1;
  fired.device = "host model";
  fired.artifact_digest = results.run.library_sha256;
  fired.call = {"norm.rmsnorm", "rows", results.run.gate->contracts.at("norm.rmsnorm"), std::string(64, 'd')};
  files.receipts = encode(fired, std::string(64, '1')) + "\n";
  return files;
}

TEST(VerdictFile, SaysWhatTheResultsSayAndVerifies) {
  const RunFiles files = forged_files();
  const std::string text = verdict_text(files);
  const json v = parse_strict(text, "verdict.json");
  EXPECT_EQ(v.at("verdict"), "PASS");
  EXPECT_EQ(v.at("run").at("results").at("lines"), 4);
  EXPECT_EQ(v.at("run").at("receipts").at("calls").at(0).at("fired"), 1);
  EXPECT_EQ(v.at("run").at("milliseconds"), 1250);
  const VerifiedVerdict read = verify_verdict(text, files);
  EXPECT_EQ(read.exit_code, 0);
  EXPECT_EQ(read.digest, v.at("digest").get<std::string>());
  json rest = v;
  rest.erase("digest");
  EXPECT_EQ(read.digest, envelope_digest("assay.verdict", rest, verdict_schema)) << "anybody can make the digest again";
}

TEST(VerdictFile, TheReproducibleDigestIsThatOfEveryRunWithTheSameOutcome) {
  RunFiles files = forged_files();
  const json first = parse_strict(verdict_text(files), "verdict.json");
  for (const auto& [from, to] : {std::pair("08:09:10Z", "09:10:11Z"), {"\"seconds\":1.25", "\"seconds\":2.5"}})
    files.results.replace(files.results.find(from), std::string(from).size(), to);
  const json second = parse_strict(verdict_text(files), "verdict.json");
  EXPECT_EQ(second.at("reproducible_digest"), first.at("reproducible_digest"));
  EXPECT_NE(second.at("digest"), first.at("digest"));
  RuleRecord failed = forged_rule("number.bound", Verdict::fail);
  failed.reason = Reason::bound;
  const json third = parse_strict(verdict_text(forged_files({failed})), "verdict.json");
  EXPECT_NE(third.at("reproducible_digest"), first.at("reproducible_digest"));
}

// 10.2: no product is better or worse than the verdict that it is part of.
TEST(VerdictFile, ItsProductsDecideAsItDoes) {
  using enum Verdict;
  for (const Verdict write : {pass, fail, no_decision, vacuous, waived, unexpected_pass, numerical_pass})
    for (const Verdict graph : {pass, fail, no_decision, vacuous, waived, unexpected_pass, numerical_pass}) {
      RuleRecord one = forged_rule("number.bound", write), two = forged_rule("graph.declared", graph);
      one.reason = two.reason = Reason::bound;
      GateRecord gate = forged_gate();
      gate.waivers.push_back(gate.waivers.front());
      gate.waivers.front().rule = "graph.declared";
      gate.waivers.front().reason = gate.waivers.back().reason = "bound";
      const RunFiles files = forged_files({one, two}, gate);
      const json v = parse_strict(verdict_text(files), "verdict.json");
      const json& products = v.at("run").at("products");
      ASSERT_EQ(products.size(), 2U);
      const auto any = [&](const char* verdict) {
        return products[0].at("verdict") == verdict || products[1].at("verdict") == verdict;
      };
      const char* decided = any("FAIL") ? "FAIL" : any("NO_DECISION") ? "NO_DECISION" : "PASS";
      EXPECT_EQ(v.at("verdict"), decided) << name_of(write) << " " << name_of(graph);
    }
}

TEST(VerdictFile, RefusesWhatIsNoWholeRunOfAGate) {
  const RunFiles good = forged_files();
  const auto with = [&](const std::function<void(RunFiles&)>& edit) {
    RunFiles files = good;
    edit(files);
    return refusal([&] { (void)verdict_text(files); });
  };
  const auto word = [](const std::string& sentence, const char* part) {
    EXPECT_NE(sentence.find(part), std::string::npos) << sentence;
  };
  word(with([](RunFiles& f) { f.results.clear(); }), "results.jsonl is empty");
  word(with([](RunFiles& f) { f.results.pop_back(); }), "cut off in line 4");
  word(with([](RunFiles& f) { f.results.resize(f.results.rfind('\n', f.results.size() - 2) + 1); }), "no end line");
  word(with([](RunFiles& f) { f.results += f.results; }), "line 5: nothing may follow the end line");
  word(with([](RunFiles& f) { f.receipts.pop_back(); }), "receipts.jsonl was cut off in line 1");
  word(with([](RunFiles& f) { f.receipts = "{}\n"; }), "receipts.jsonl, line 1: ");
  const auto swap = [](std::string& text, const std::string& from, const std::string& to) {
    text.replace(text.find(from), from.size(), to);
  };
  word(with([&](RunFiles& f) { swap(f.results, R"("verdict":"PASS")", R"("verdict":"FAIL")"); }), "line 2: ");
  word(with([&](RunFiles& f) { swap(f.results, R"("evidence":90,"judged":96)", R"("evidence":0,"judged":0)"); }),
       "contradicts itself");
  word(with([&](RunFiles& f) { swap(f.receipts, "2c26b4", "3c26b4"); }), "another library");
  word(with([&](RunFiles& f) { swap(f.receipts, "5feceb", "6feceb"); }), "another contract");
  RuleRecord waived = forged_rule("write.every_cell", Verdict::waived);
  waived.reason = Reason::unwritten;
  word(refusal([&] { (void)verdict_text(forged_files({waived})); }), "no waiver of its run line does");
  RunFiles plain = good;
  json run = parse_strict(plain.results.substr(0, plain.results.find('\n')), "run");
  run.erase("gate");
  plain.results.replace(0, plain.results.find('\n'), canonical(run));
  word(refusal([&] { (void)verdict_text(plain); }), "no key gate");
}

TEST(VerdictFile, RefusalsNameTheFieldAndBothValues) {
  const RunFiles files = forged_files();
  const json good = parse_strict(verdict_text(files), "verdict.json");
  const auto with = [&](const std::function<void(json&)>& edit) {
    json v = good;
    edit(v);
    return refusal([&] { (void)verify_verdict(canonical(v) + "\n", files); });
  };
  const auto word = [](const std::string& sentence, const char* part) {
    EXPECT_NE(sentence.find(part), std::string::npos) << sentence;
  };
  word(with([](json& v) { v["verdict"] = "FAIL"; }),
       R"(verdict.json, field "/verdict": says "FAIL", and results.jsonl with receipts.jsonl gives "PASS")");
  word(with([](json& v) { v["reproducible"]["outcomes"][0]["rules"]["receipt.fired"]["verdict"] = "FAIL"; }),
       "/reproducible/outcomes/0/rules/receipt.fired/verdict");
  word(with([](json& v) { v.erase("why"); }), R"(field "/why": is missing)");
  word(with([](json& v) { v["note"] = 1; }), "gives no such field");
  word(with([](json& v) { v["schema"] = 2; }), "schema 1");
  word(with([](json& v) { v["digest"] = std::string(64, 'a'); }), "/digest");
  word(with([](json& v) { v["run"]["results"]["sha256"] = std::string(64, 'a'); }), "results.jsonl is not the file");
  word(with([](json& v) { v["run"]["receipts"]["sha256"] = std::string(64, 'a'); }), "receipts.jsonl is not the file");
  EXPECT_NE(refusal([&] { (void)verify_verdict(good.dump(2), files); }).find("canonical"), std::string::npos);
  EXPECT_NE(refusal([&] { (void)verify_verdict("[]\n", files); }).find("not an object"), std::string::npos);
}

TEST(VerdictFile, WhatTheCallerKnowsFromElsewhereIsHeldAgainstIt) {
  const RunFiles files = forged_files();
  const std::string text = verdict_text(files);
  const json v = parse_strict(text, "verdict.json");
  PinnedFacts right;
  right.digest = v.at("digest");
  right.candidate = forged_run().library_sha256;
  right.suite = suite_digest(forged_gate());
  right.contracts = forged_gate().contracts;
  EXPECT_EQ(verify_verdict(text, files, right).exit_code, 0);
  const std::string other(64, 'b');
  for (const auto& [word, edit] : std::vector<std::pair<std::string, std::function<void(PinnedFacts&)>>>{
           {"/digest", [&](PinnedFacts& p) { p.digest = other; }},
           {"/reproducible/candidate/sha256", [&](PinnedFacts& p) { p.candidate = other; }},
           {"/reproducible/suite/digest", [&](PinnedFacts& p) { p.suite = other; }},
           {"/reproducible/contracts/norm.rmsnorm", [&](PinnedFacts& p) { p.contracts["norm.rmsnorm"] = other; }},
           {"none of \"attention.sdpa\"", [&](PinnedFacts& p) { p.contracts["attention.sdpa"] = other; }}}) {
    PinnedFacts wrong = right;
    edit(wrong);
    EXPECT_NE(refusal([&] { (void)verify_verdict(text, files, wrong); }).find(word), std::string::npos) << word;
  }
}

// ---- golden runs: real ones, most of their trial lines left out ----

TEST(VerdictFile, TheGoldenRunsAreReadStrictlyDerivedAndWrittenByteForByte) {
  for (const auto& [name, exit_code] : {std::pair("pass", 0), {"fail", 1}, {"no_decision", 3}}) {
    const StoredRun run = stored_run(name);
    EXPECT_EQ(verdict_text(run.files), run.verdict) << name;
    EXPECT_EQ(verify_verdict(run.verdict, run.files).exit_code, exit_code) << name;
    RunResults results = parse_results(run.files.results, name);
    std::size_t rules = 0, failures = 0, cases = 0;
    for (const std::string& line : lines_of_text(run.files.results)) {
      const json j = parse_strict(line, name, results_line_limit);
      const std::string kind = j.at("kind");
      const json again = kind == "run"       ? to_json(results.run)
                         : kind == "rule"    ? to_json(results.rules.at(rules++))
                         : kind == "failure" ? to_json(results.failures.at(failures++))
                         : kind == "cases"   ? to_json(results.cases.at(cases++))
                         : kind == "end"     ? to_json(results.end)
                                             : j;
      EXPECT_EQ(canonical(again), line);
    }
    EXPECT_EQ(rules, results.rules.size());
    for (const std::string& line : lines_of_text(run.files.receipts))
      EXPECT_EQ(canonical(parse_strict(line, name)), line);
  }
}

// After a change of the form: harness_tests --gtest_also_run_disabled_tests --gtest_filter='*DISABLED_Renew*'.
TEST(VerdictFile, DISABLED_RenewTheGoldenVerdicts) {
  for (const char* name : {"pass", "fail", "no_decision"})
    std::ofstream(stored_folder(name) + "/verdict.json", std::ios::binary) << verdict_text(stored_run(name).files);
}

}  // namespace
}  // namespace assay
