// harness/result/forged_test.hpp: made-up records for the tests of results and reports.
//
// Promises: each is legal under schema 1 and fixed, so that golden texts stay. Brings holds() along, since reports may
// include nothing of ours but this folder.
// Who calls it: tests only.
//
//   FailureRecord failure = forged_failure("write.every_cell", Reason::unwritten);
#pragma once

#include <string>

#include "harness/case/rapid_test.hpp"
#include "harness/result/records.hpp"

namespace assay {

inline RunRecord forged_run() {
  RunRecord run;
  run.assay_version = "0.1.0";
  run.library = "./libmykernels.so";
  run.library_sha256 = "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae";
  run.library_name = "mykernels";
  run.library_version = "1.2";
  run.devices = {"host: host model"};
  run.tier = "quick";
  run.isolation = "trusting";
  run.started = "2024-06-07T08:09:10Z";
  run.command = "assay check ./libmykernels.so --seed 0";
  return run;
}

// What makes forged_run() a gate's.
inline GateRecord forged_gate() {
  GateRecord gate;
  gate.contracts["norm.rmsnorm"] = "5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9";
  gate.targets["norm.rmsnorm"] = "6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b";
  gate.variants = {{"norm.rmsnorm", "rows", "host", "{}", true}};
  gate.rules = "d4735e3a265e16eee03f59718b9b5d03019c07d8b6c51f90da3a666eec13ab35";
  gate.program = "4e07408562bedb8b60ce05c1decfe3ad16b72230967de01f640b7e4729b49fce";
  gate.worker = "4b227777d4dd1fc61c6f884f48641d02b4d121d3fd328cb08b5531fcacdabf8a";
  gate.references = "ef2d127de37b942baad06145e54b0c619a1f22327b2ebbcfbec78f5564afe39d";
  gate.compiler = "GNU 12.2.0";
  gate.waivers = {{"number.bound", "norm.rmsnorm", "rows", "bound", "kernels@example.org",
                   "https://tracker.example.org/1234", "2026-12-31"}};
  gate.waivers_sha256 = "e7f6c011776e8db7cd330b54174fd76f7d0216b612387a5ffcfb81e6f0919683";
  return gate;
}

inline RuleRecord forged_rule(const std::string& rule, Verdict verdict, const std::string& dtype = "fp16") {
  RuleRecord record;
  record.subject = {"norm.rmsnorm", "rows", "host", dtype, rule};
  record.verdict = verdict;
  const bool judged = verdict != Verdict::not_applicable && verdict != Verdict::no_decision;
  record.judged = judged ? 96 : 0;
  record.evidence = judged && verdict != Verdict::vacuous ? 90 : 0;
  return record;
}

inline FailureRecord forged_failure(const std::string& rule, Reason reason = Reason::mismatch,
                                    const std::string& dtype = "fp16") {
  FailureRecord record;
  record.subject = {"norm.rmsnorm", "rows", "host", dtype, rule};
  record.reason = reason;
  record.text = "2 of 18 cells of out are wrong";
  record.label = "call";
  record.pattern = "tail: the last cell of each row";
  record.bound = "atol 0.001 + rtol 0.01 * |e|, allclose of fp16 (spec/slots.md 1.4)";
  record.worst =
      nlohmann::json::array({worst_cell("out(0, 8)", 0, 1.5, 0.016), worst_cell("out(1, 8)", 0, -0.75, 0.0085)});
  record.trial = {{"variant", "rows"},
                  {"device", "host"},
                  {"drive", "eager"},
                  {"history", nlohmann::json::array()},
                  {"cases", nlohmann::json::array({{{"slot", "norm.rmsnorm"}, {"dtype", dtype}, {"seed", 7}}})}};
  record.trial_text = "eager: hidden=9 rows=2 " + dtype + " recipe=normal lead=2d eps=1e-06 late seed=7";
  record.trial_file = "out/trials/norm.rmsnorm-1.json";
  record.replay = "assay replay out/trials/norm.rmsnorm-1.json --library ./libmykernels.so";
  record.cases_until_caught = 3;
  record.shrink_runs = 31;
  record.seconds_until_shrunk = 0.42;
  record.confirmed = "fresh worker";
  return record;
}

}  // namespace assay
