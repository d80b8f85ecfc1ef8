#include "harness/result/verdict_file.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>
#include <vector>

#include "harness/case/digest.hpp"
#include "harness/case/json.hpp"
#include "harness/catalogue/canonical.hpp"
#include "harness/receipt/receipt.hpp"
#include "harness/result/attempt.hpp"
#include "harness/result/failure_table.hpp"
#include "harness/result/text.hpp"

namespace assay {
namespace {

using nlohmann::json;

constexpr const char* kResults = "results.jsonl";
constexpr const char* kReceipts = "receipts.jsonl";
constexpr const char* kVerdict = "verdict.json";
constexpr double kMostSeconds = 1e9;               // thirty years
constexpr std::size_t kVerdictLimit = 16u << 20u;  // bytes

// One line for a terminal, whatever the files hold.
[[noreturn]] void refuse(std::string sentence) {
  constexpr std::size_t most = 500;
  if (sentence.size() > most) sentence = repaired(sentence.substr(0, most)) + "...";
  std::ranges::replace_if(sentence, [](unsigned char c) { return c < 0x20 || c == 0x7F; }, ' ');
  throw VerdictRefused(sentence);
}

std::int64_t lines_of(std::string_view text) { return std::ranges::count(text, '\n'); }

// ---- the files of a run ----

RunResults checked_results(const std::string& text) {
  const auto no_run = [](const std::string& why) { refuse(std::string(kResults) + " " + why); };
  if (text.empty()) no_run("is empty");
  if (text.back() != '\n') no_run("was cut off in line " + std::to_string(lines_of(text) + 1));
  RunResults results;
  try {
    results = parse_results(text, kResults);
  } catch (const std::invalid_argument& error) {
    refuse(error.what());
  }
  if (!results.has_end) no_run("has no end line: the run did not end, or its last lines are gone");
  if (!is_gate(results.run)) no_run("is not of a run of `assay check --gate`: line 1 has no key gate");
  EndRecord owed = end_for(results);
  if (owed.verdict != results.end.verdict || owed.exit_code != results.end.exit_code || owed.why != results.end.why)
    no_run("contradicts itself: its end line says " + results.end.verdict + ", and the lines before it " +
           owed.verdict + (owed.why.empty() ? "" : " (" + owed.why + ")"));
  return results;
}

// A waiver has to be of the file, and of its day.
void check_waivers(const RunResults& results) {
  for (const RuleRecord& rule : results.rules) {
    if (rule.verdict != Verdict::waived && rule.verdict != Verdict::unexpected_pass) continue;
    const auto covers = [&](const GateWaiver& w) {
      const bool same = w.rule == rule.subject.rule && w.slot == rule.subject.slot && w.variant == rule.subject.variant;
      if (rule.verdict == Verdict::unexpected_pass) return same;
      return same && w.reason == name_of(rule.reason) && w.expires >= results.run.started.substr(0, w.expires.size());
    };
    if (std::ranges::none_of(results.run.gate->waivers, covers))
      refuse(std::string(kResults) + " waives " + rule.subject.rule + " of " + rule.subject.slot + " " +
             rule.subject.variant + ", and no waiver of its run line does");
  }
}

struct RankReceipts {
  std::int64_t active = 0, load_failed = 0, teardown_failed = 0;
};
struct CallReceipts {
  std::int64_t fired = 0, completed = 0, completed_captured = 0, replayed = 0, fallback = 0;
};
struct ReceiptSums {
  std::map<std::pair<std::int64_t, std::int64_t>, RankReceipts> ranks;  // by world size and rank
  std::map<std::tuple<std::string, std::string, std::int64_t, std::int64_t>, CallReceipts> calls;
};

void add(ReceiptSums& sums, const Receipt& r) {
  RankReceipts& rank = sums.ranks[{r.world_size, r.rank}];
  rank.active += r.kind == ReceiptKind::active;
  rank.load_failed += r.kind == ReceiptKind::load_failed;
  rank.teardown_failed += r.kind == ReceiptKind::teardown_failed;
  if (!is_of_a_call(r.kind)) return;
  CallReceipts& call = sums.calls[{r.call.slot, r.call.variant, r.world_size, r.rank}];
  const bool captured = r.phase() == "captured";
  call.fired += r.kind == ReceiptKind::fired;
  call.completed += r.kind == ReceiptKind::completed && !captured;
  call.completed_captured += r.kind == ReceiptKind::completed && captured;
  call.replayed += r.kind == ReceiptKind::replayed;
  call.fallback += r.kind == ReceiptKind::fallback;
}

ReceiptSums checked_receipts(const std::string& text, const RunRecord& run) {
  if (!text.empty() && text.back() != '\n')
    refuse(std::string(kReceipts) + " was cut off in line " + std::to_string(lines_of(text) + 1));
  ReceiptSums sums;
  std::int64_t number = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t end = rest.find('\n');
    const std::string where = std::string(kReceipts) + ", line " + std::to_string(++number) + ": ";
    Receipt r;
    try {
      r = decode(rest.substr(0, end));
    } catch (const ReceiptRefused& error) {
      refuse(where + error.what());
    }
    rest.remove_prefix(end + 1);
    if (r.artifact_digest != run.library_sha256) refuse(where + "a receipt of another library than the run line names");
    if (is_of_a_call(r.kind)) {
      const auto contract = run.gate->contracts.find(r.call.slot);
      if (contract == run.gate->contracts.end() || contract->second != r.call.contract_digest)
        refuse(where + "a receipt for another contract of " + shown(r.call.slot) + " than the run line names");
    }
    add(sums, r);
  }
  return sums;
}

// ---- what they come to ----

json without_rule(const Subject& s) {
  json j = json::object();
  for (const auto& [key, value] :
       {std::pair("slot", &s.slot), {"variant", &s.variant}, {"device", &s.device}, {"dtype", &s.dtype}})
    if (!value->empty()) j[key] = *value;
  if (s.ranks != 1) j["ranks"] = s.ranks;
  return j;
}

// Of each unit its cases and rules, sorted: whichever judge was first.
json outcomes_of(const RunResults& results) {
  std::map<std::string, json> units;  // by their canonical subject
  const auto unit = [&](const Subject& s) -> json& {
    json subject = without_rule(s);
    json& u = units[canonical(subject)];
    if (u.is_null()) u = std::move(subject);
    return u;
  };
  for (const RuleRecord& r : results.rules) {
    json& said = unit(r.subject)["rules"][r.subject.rule];
    said["verdict"] = name_of(r.verdict);
    if (r.reason != Reason::none) said["reason"] = name_of(r.reason);
  }
  for (const CasesRecord& c : results.cases) {
    json& u = unit(c.subject);
    u["cases"] = c.distinct;
    u["outside_domain"] = c.outside_domain;
  }
  json list = json::array();
  for (auto& [key, u] : units) list.push_back(std::move(u));
  return list;
}

std::string level_of(const std::string& isolation) { return isolation.substr(0, isolation.find(':')); }

json environment_of(const RunRecord& run) {
  json e = {{"assay_version", run.assay_version},
            {"compiler", run.gate->compiler},
            {"devices", run.devices},
            {"isolation", level_of(run.isolation)}};
  if (!run.nccl_sha256.empty()) e["nccl"] = {{"version", run.nccl_version}, {"sha256", run.nccl_sha256}};
  return e;
}

json reproducible_of(const RunResults& results) {
  const RunRecord& run = results.run;
  const json gate = to_json(*run.gate);
  return {{"candidate",
           {{"name", run.library_name},
            {"version", run.library_version},
            {"sha256", run.library_sha256},
            {"variants", gate.at("variants")}}},
          {"contracts", gate.at("contracts")},
          {"targets", gate.at("targets")},
          {"suite",
           {{"digest", suite_digest(*run.gate)},
            {"rules", run.gate->rules},
            {"program", run.gate->program},
            {"worker", run.gate->worker},
            {"references", run.gate->references}}},
          {"environment", environment_of(run)},
          {"tier", run.tier},
          {"seed", std::to_string(run.seed)},  // 64 bits: an identity's integers have 63
          {"rules_left_out", run.gate->rules_left_out},
          {"waivers", {{"sha256", run.gate->waivers_sha256}, {"list", gate.at("waivers")}}},
          {"outcomes", outcomes_of(results)}};
}

json receipts_of(const ReceiptSums& sums, const std::string& text) {
  json ranks = json::array(), calls = json::array();
  for (const auto& [who, n] : sums.ranks)
    ranks.push_back({{"world_size", who.first},
                     {"rank", who.second},
                     {"active", n.active},
                     {"load_failed", n.load_failed},
                     {"teardown_failed", n.teardown_failed}});
  for (const auto& [who, n] : sums.calls)
    calls.push_back({{"slot", std::get<0>(who)},
                     {"variant", std::get<1>(who)},
                     {"world_size", std::get<2>(who)},
                     {"rank", std::get<3>(who)},
                     {"fired", n.fired},
                     {"completed", n.completed},
                     {"completed_captured", n.completed_captured},
                     {"replayed", n.replayed},
                     {"fallback", n.fallback}});
  return {{"lines", lines_of(text)},
          {"sha256", sha256_hex(text)},
          {"ranks", std::move(ranks)},
          {"calls", std::move(calls)}};
}

// One of the evidence products of routing-and-targets.md 10.2: its rules' part of the verdict.
json product_of(const RunResults& results, ProductKind kind) {
  RunResults part = results;
  const auto other = [&](const auto& record) {
    return (record.subject.rule.rfind("graph.", 0) == 0) != (kind == ProductKind::graph);
  };
  std::erase_if(part.rules, other);
  std::erase_if(part.failures, other);
  return {{"kind", name_of(kind)}, {"verdict", end_of_rules(part).verdict}};
}

json run_of(const RunResults& results, const RunFiles& files, const ReceiptSums& sums, const json& environment) {
  const RunRecord& run = results.run;
  json r = {{"started", run.started},
            {"milliseconds", std::llround(1e3 * std::min(results.end.seconds, kMostSeconds))},
            {"command", run.command},
            {"library", run.library},
            {"isolation", run.isolation},
            {"trials", results.trials},
            {"resumed", results.resumes.size()},
            {"results", {{"lines", lines_of(files.results)}, {"sha256", sha256_hex(files.results)}}},
            {"receipts", receipts_of(sums, files.receipts)},
            {"identity",
             {{"candidate", run.library_sha256},
              {"contract", envelope_digest("assay.contracts", to_json(*run.gate).at("contracts"), 1)},
              {"stack", suite_digest(*run.gate)},
              {"arena", envelope_digest("assay.arena", environment, 1)},
              {"attempt", sha256_hex(files.results)}}},
            {"products", {product_of(results, ProductKind::execution), product_of(results, ProductKind::graph)}}};
  if (!run.nccl.empty()) r["nccl"] = run.nccl;
  return r;
}

json verdict_of(const RunFiles& files) {
  const RunResults results = checked_results(files.results);
  check_waivers(results);
  const ReceiptSums sums = checked_receipts(files.receipts, results.run);
  json reproducible = reproducible_of(results);
  json payload = {{"schema", verdict_schema},
                  {"verdict", results.end.verdict},
                  {"attribution", to_json(results.end).at("attribution")},
                  {"exit_code", results.end.exit_code},
                  {"why", results.end.why}};
  payload["reproducible_digest"] = envelope_digest(
      "assay.verdict-reproducible",
      {{"verdict", results.end.verdict}, {"exit_code", results.end.exit_code}, {"reproducible", reproducible}}, 1);
  payload["run"] = run_of(results, files, sums, reproducible.at("environment"));
  payload["reproducible"] = std::move(reproducible);
  payload["digest"] = envelope_digest("assay.verdict", payload, verdict_schema);
  return payload;
}

// ---- the check ----

std::string shortly(const json& value) {
  const std::string text = value.dump(-1, ' ', true, json::error_handler_t::replace);
  return text.size() <= 80 ? text : text.substr(0, 77) + "...";
}

bool is_digest_field(const std::string& path) {
  const auto ends = [&](std::string_view end) { return path.ends_with(end); };
  return ends("digest") || ends("sha256") || ends("/attempt") || ends("/milliseconds");
}

// Every field in which two values differ, as a path.
void differences(const json& said, const json& owed, const std::string& path, std::vector<std::string>& found) {
  if (said == owed && said.is_number_float() == owed.is_number_float()) return;
  if (said.is_object() && owed.is_object()) {
    for (const auto& [key, value] : owed.items())
      said.contains(key) ? differences(said.at(key), value, path + "/" + key, found)
                         : found.push_back(path + "/" + key);
    for (const auto& [key, value] : said.items())
      if (!owed.contains(key)) found.push_back(path + "/" + key);
    return;
  }
  if (said.is_array() && owed.is_array() && said.size() == owed.size()) {
    for (std::size_t i = 0; i < said.size(); ++i) differences(said[i], owed[i], path + "/" + std::to_string(i), found);
    return;
  }
  found.push_back(path);
}

const json* at_path(const json& value, const std::string& path) {
  const json* at = &value;
  for (std::size_t from = 1; from <= path.size() && !path.empty();) {
    const std::size_t end = std::min(path.find('/', from), path.size());
    const std::string key = path.substr(from, end - from);
    if (at->is_array()) {
      at = &at->at(std::stoul(key));
    } else {
      const auto found = at->find(key);
      if (found == at->end()) return nullptr;
      at = &*found;
    }
    from = end + 1;
  }
  return at;
}

[[noreturn]] void refuse_difference(const json& said, const json& owed) {
  std::vector<std::string> found;
  differences(said, owed, "", found);
  if (found.empty()) refuse(std::string(kVerdict) + " is not in its canonical form");
  // What a reader understands first: a verdict rather than the digest that follows from it.
  const auto plain = std::ranges::find_if_not(found, is_digest_field);
  if (plain != found.end()) {
    const json *mine = at_path(said, *plain), *theirs = at_path(owed, *plain);
    refuse(std::string(kVerdict) + ", field " + shown(*plain) + ": " +
           (mine ? "says " + shortly(*mine) : "is missing") + ", and results.jsonl with receipts.jsonl " +
           (theirs ? "gives " + shortly(*theirs) : "gives no such field"));
  }
  const auto has = [&](const char* path) { return std::ranges::find(found, path) != found.end(); };
  for (const auto& [path, file] : {std::pair("/run/results/sha256", kResults), {"/run/receipts/sha256", kReceipts}})
    if (has(path))
      refuse(std::string(file) + " is not the file that " + kVerdict + " tells of: its SHA-256 is " +
             owed.at(json::json_pointer(path)).get<std::string>());
  refuse(std::string(kVerdict) + ", field " + found.front() +
         ": does not follow from results.jsonl and receipts.jsonl");
}

json parsed_verdict(std::string_view text) {
  json said;
  try {
    said = parse_strict(text, kVerdict, kVerdictLimit);
    if (!said.is_object()) refuse(std::string(kVerdict) + " is not an object");
    const auto schema = said.find("schema");
    if (schema == said.end() || !schema->is_number_integer() || *schema != verdict_schema)
      refuse(std::string(kVerdict) + ", field /schema: this reader knows schema " + std::to_string(verdict_schema) +
             " of verdicts only");
    if (canonical(said) + "\n" != text) refuse(std::string(kVerdict) + " is not in its canonical form");
  } catch (const JsonError& error) {
    refuse(error.what());
  }
  return said;
}

void check_expected(const PinnedFacts& expected, const json& v) {
  const auto same = [&](const std::string& pinned, const char* path, const std::string& what) {
    const auto& is = v.at(json::json_pointer(path)).get_ref<const std::string&>();
    if (!pinned.empty() && pinned != is)
      refuse(std::string(kVerdict) + ", field " + path + ": " + what + " is " + is + ", and " + pinned +
             " is expected");
  };
  same(expected.digest, "/digest", "the verdict's digest");
  same(expected.candidate, "/reproducible/candidate/sha256", "the candidate's SHA-256");
  same(expected.suite, "/reproducible/suite/digest", "the suite's digest");
  const json& contracts = v.at("reproducible").at("contracts");
  for (const auto& [slot, digest] : expected.contracts) {
    const auto found = contracts.find(slot);
    if (found == contracts.end())
      refuse(std::string(kVerdict) + ", field /reproducible/contracts: none of " + shown(slot));
    if (*found != digest)
      refuse(std::string(kVerdict) + ", field /reproducible/contracts/" + slot + ": is " + found->get<std::string>() +
             ", and " + digest + " is expected");
  }
}

}  // namespace

std::string verdict_text(const RunFiles& files) { return canonical(verdict_of(files)) + "\n"; }

VerifiedVerdict verify_verdict(std::string_view text, const RunFiles& files, const PinnedFacts& expected) {
  const json said = parsed_verdict(text);
  const json owed = verdict_of(files);
  if (canonical(owed) + "\n" != text) refuse_difference(said, owed);
  check_expected(expected, owed);
  return {owed.at("verdict").get<std::string>(), owed.at("why").get<std::string>(),
          owed.at("digest").get<std::string>(), owed.at("exit_code").get<int>()};
}

}  // namespace assay
