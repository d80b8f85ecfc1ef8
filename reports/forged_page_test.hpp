// reports/forged_page_test.hpp: a made-up run that has every part of the page, and one that came before it.
//
// Promises: `text` stands wherever a candidate's own text may: library, variant, findings, output of the worker.
// Who calls it: tests only.
#pragma once

#include <string>

#include "harness/result/forged_test.hpp"

namespace assay {

inline CellMap forged_picture(std::int64_t rank, std::vector<std::string> lines) {
  CellMap map;
  map.rank = rank;
  map.call = "replay 2";
  map.output = "out";
  map.dtype = "bf16";
  map.shape = {static_cast<std::int64_t>(lines.size()), static_cast<std::int64_t>(lines.front().size())};
  map.lines = std::move(lines);
  map.off = 3;
  return map;
}

inline RunResults forged_results(const std::string& text = "plain") {
  RunResults r;
  r.has_run = r.has_end = true;
  r.run = forged_run();
  r.run.library_name = text;
  r.run.command += " " + text;
  for (const char* dtype : {"bf16", "fp16"}) {
    for (const char* rule : {"write.binding", "number.bound", "relation.split"})
      r.rules.push_back(forged_rule(rule, Verdict::pass, dtype));
    r.rules.push_back(forged_rule("graph.no_growth", Verdict::not_applicable, dtype));
    r.rules.push_back(forged_rule("input.scalars", Verdict::vacuous, dtype));
    r.rules.back().text = text;
  }
  r.rules[1].warnings = {text, "another"};
  r.rules.push_back(forged_rule("write.every_cell", Verdict::fail, "bf16"));
  r.rules.push_back(forged_rule("write.every_cell", Verdict::pass, "fp16"));
  FailureRecord f = forged_failure("write.every_cell", Reason::unwritten, "bf16");
  f.text = f.label = f.pattern = f.bound = f.worker_output = f.confirmed = text;
  f.trial_text += text;
  f.trial_file += text;
  f.replay += " " + text;
  f.trial["variant"] = text;
  f.worst = nlohmann::json::array({worst_cell(text, 1, 2, 3)});
  f.maps = {forged_picture(0, {"....", "...u"}), forged_picture(1, {"1234", "nx.."})};
  f.maps[1].stray_bytes = 5;
  f.maps[1].stray_before = f.maps[1].stray_after = true;
  f.maps[1].stray_lines = {1};
  f.maps[1].caught_in = f.maps[0].call = f.maps[0].output = text;
  r.failures.push_back(std::move(f));
  CasesRecord cases{{"norm.rmsnorm", "rows", "host", "bf16", {}}, 96, 3, {}};
  DimTried rows;
  rows.name = "rows";
  rows.most = 9;
  rows.edges = {{0, 2}, {7, 0}};
  rows.elsewhere = 3;
  cases.tried = {{rows}, {{"normal", 5}, {"tag", 0}}, {{"lead=2d", 5}}};
  r.cases.push_back(cases);
  cases.subject.dtype = "fp16";
  r.cases.push_back(cases);
  r.trials = 7;
  r.times = {{"norm.rmsnorm", "host", 7, 3500, 1200}};
  r.drives = {{"eager", 4, 500, 200}, {"capture_replay", 3, 3000, 1200}};
  r.end = end_for(r);
  r.end.seconds = 4.5;
  return r;
}

// Passed write.every_cell, and failed another rule that holds now.
inline RunResults forged_earlier(const std::string& text = "plain") {
  RunResults r = forged_results(text);
  for (RuleRecord& rule : r.rules) {
    if (rule.subject.rule == "write.every_cell") rule.verdict = Verdict::pass;
    if (rule.subject.rule == "number.bound") rule.verdict = Verdict::fail;
  }
  r.failures[0].subject.rule = "number.bound";
  r.run.seed = 1;
  r.end = end_for(r);
  return r;
}

}  // namespace assay
