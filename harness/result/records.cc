#include "harness/result/records.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <set>
#include <stdexcept>

#include "harness/case/json.hpp"
#include "harness/result/failure_table.hpp"
#include "harness/result/text.hpp"

namespace assay {
namespace {

using nlohmann::json;

[[noreturn]] void refuse(const std::string& sentence) { throw std::invalid_argument(sentence); }

// A trial may quote text of the candidate's (a variant's id).
json repaired_strings(const json& value) {
  if (value.is_string()) return repaired(value.get_ref<const std::string&>());
  if (value.is_array()) {
    json out = json::array();
    for (const json& item : value) out.push_back(repaired_strings(item));
    return out;
  }
  if (value.is_object()) {
    json out = json::object();
    for (const auto& [key, item] : value.items()) out[repaired(key)] = repaired_strings(item);
    return out;
  }
  return value;
}

json list_of_texts(const std::vector<std::string>& texts) {
  json list = json::array();
  for (const std::string& text : texts) list.push_back(repaired(text));
  return list;
}

json line_of(const char* kind, const Subject& s) {
  json j = {{"kind", kind}};
  const auto put = [&](const char* key, const std::string& value) {
    if (!value.empty()) j[key] = repaired(value);
  };
  put("slot", s.slot);
  put("variant", s.variant);
  put("device", s.device);
  put("dtype", s.dtype);
  put("rule", s.rule);
  if (s.ranks != 1) j["ranks"] = s.ranks;
  return j;
}

// Reads the keys of one line; done() refuses what nobody asked for.
class Fields {
 public:
  Fields(const json& object, std::string kind) : object_(object), kind_(std::move(kind)) {}

  const json& any(const char* key) {
    const auto found = object_.find(key);
    if (found == object_.end()) fail(key, "is missing");
    read_.insert(key);
    return *found;
  }
  std::string text(const char* key) {
    const json& value = any(key);
    if (!value.is_string()) fail(key, "is not text");
    return value.get<std::string>();
  }
  std::string text_or_empty(const char* key) {
    if (!object_.contains(key)) return {};
    std::string value = text(key);
    if (value.empty()) fail(key, "is empty; leave it out");
    return value;
  }
  std::vector<std::string> texts(const char* key) {
    const json& value = any(key);
    if (!value.is_array()) fail(key, "is not a list");
    std::vector<std::string> list;
    for (const json& item : value) {
      if (!item.is_string()) fail(key, "holds something that is not text");
      list.push_back(item.get<std::string>());
    }
    return list;
  }
  std::uint64_t natural(const char* key, std::uint64_t limit) {
    const json& value = any(key);
    if (!value.is_number_integer() || (!value.is_number_unsigned() && value.get<std::int64_t>() < 0)) {
      fail(key, "is not an integer of at least 0");
    }
    const auto number = value.get<std::uint64_t>();
    if (number > limit) fail(key, "is over " + std::to_string(limit));
    return number;
  }
  std::int64_t count(const char* key) {
    return static_cast<std::int64_t>(natural(key, std::numeric_limits<std::int64_t>::max()));
  }
  double duration(const char* key) {
    const json& value = any(key);
    if (!value.is_number() || !(value.get<double>() >= 0)) fail(key, "is not a number of at least 0");
    return value.get<double>();
  }
  bool flag(const char* key) {
    const json& value = any(key);
    if (!value.is_boolean()) fail(key, "is neither true nor false");
    return value.get<bool>();
  }
  Verdict verdict(const char* key) { return verdict_of_name(key, text(key)); }
  [[nodiscard]] Verdict verdict_of_name(const char* key, const std::string& name) const {
    try {
      return verdict_from(name);
    } catch (const std::invalid_argument&) {
      fail(key, "has no verdict of that name: " + shown(name));
    }
  }
  Reason reason(const char* key) {
    const std::string name = text(key);
    try {
      return reason_from(name);
    } catch (const std::invalid_argument&) {
      fail(key, "has no reason of that name: " + shown(name));
    }
  }
  // Follows from the rest of the line; lines of before there was one lack it.
  void attribution(Attribution owed) {
    if (!object_.contains("attribution")) return;
    const std::string said = text("attribution");
    if (said != name_of(owed)) fail("attribution", "says " + shown(said) + " where it is " + std::string(name_of(owed)) + "'s");
  }
  Subject subject(bool with_rule) {
    Subject s;
    s.slot = text_or_empty("slot");
    s.variant = text_or_empty("variant");
    s.device = text_or_empty("device");
    s.dtype = text_or_empty("dtype");
    if (object_.contains("ranks")) s.ranks = count("ranks");
    if (s.ranks < 1) fail("ranks", "is less than 1");
    if (with_rule) s.rule = text("rule");
    if (with_rule && s.rule.empty()) fail("rule", "is empty");
    return s;
  }
  void done() const {
    for (const auto& [key, value] : object_.items()) {
      if (!read_.contains(key)) refuse("a " + kind_ + " line has no key " + shown(key));
    }
  }
  // A key that may be left out; `read` says what is wrong with it.
  template <class T, class Read>
  void maybe(const char* key, T& value, Read read) {
    if (!object_.contains(key)) return;
    try {
      value = read(any(key));
    } catch (const std::invalid_argument& error) {
      fail(key, error.what());
    }
  }
  [[noreturn]] void fail(const std::string& key, const std::string& why) const {
    refuse("in the " + kind_ + " line " + key + " " + why);
  }

 private:
  const json& object_;
  std::string kind_;
  std::set<std::string> read_;
};

// An internal error is the validator's.
Attribution attribution_of_run(const EndRecord& end) {
  if (end.verdict == "PASS") return Attribution::none;
  if (end.verdict == "FAIL") return Attribution::candidate;
  return end.exit_code == static_cast<int>(ExitCode::internal) ? Attribution::validator : Attribution::infrastructure;
}

RunRecord run_from(Fields& f) {
  if (f.natural("schema", std::numeric_limits<int>::max()) != results_schema) {
    refuse("this reader knows schema " + std::to_string(results_schema) + " of results only");
  }
  RunRecord r;
  r.assay_version = f.text("assay_version");
  r.library = f.text("library");
  r.library_sha256 = f.text("library_sha256");
  r.library_name = f.text("library_name");
  r.library_version = f.text("library_version");
  r.devices = f.texts("devices");
  r.tier = f.text("tier");
  r.isolation = f.text("isolation");
  r.seed = f.natural("seed", std::numeric_limits<std::uint64_t>::max());
  r.started = f.text("started");
  r.command = f.text("command");
  r.nccl = f.text_or_empty("nccl");
  r.nccl_version = f.text_or_empty("nccl_version");
  r.nccl_sha256 = f.text_or_empty("nccl_sha256");
  f.maybe("gate", r.gate, gate_from);
  return r;
}

TrialRecord trial_from(Fields& f) {
  TrialRecord r;
  r.subject = f.subject(false);
  r.drive = f.text("drive");
  r.trial_digest = f.text("trial_digest");
  r.milliseconds = f.duration("milliseconds");
  const json& judgements = f.any("judgements");
  if (!judgements.is_object()) f.fail("judgements", "is not an object of rule: verdict");
  for (const auto& [rule, verdict] : judgements.items()) {
    if (!verdict.is_string()) f.fail("judgements", "holds a verdict that is not text");
    r.judgements.emplace_back(rule, f.verdict_of_name("judgements", verdict.get<std::string>()));
  }
  return r;
}

CasesRecord cases_from(Fields& f) {
  CasesRecord r;
  r.subject = f.subject(false);
  r.distinct = f.count("distinct");
  r.outside_domain = f.count("outside_domain");
  if (r.outside_domain > r.distinct) f.fail("outside_domain", "is over distinct");
  f.maybe("tried", r.tried, tried_from);
  return r;
}

RuleRecord rule_from(Fields& f) {
  RuleRecord r;
  r.subject = f.subject(true);
  r.verdict = f.verdict("verdict");
  r.reason = f.reason("reason");
  r.judged = f.count("judged");
  r.evidence = f.count("evidence");
  if (r.evidence > r.judged) f.fail("evidence", "is over judged");
  r.warnings = f.texts("warnings");
  r.text = f.text("text");
  f.attribution(attribution_of(r.verdict, r.reason));
  return r;
}

FailureRecord failure_from(Fields& f) {
  FailureRecord r;
  r.subject = f.subject(true);
  r.reason = f.reason("reason");
  r.text = f.text("text");
  r.label = f.text("label");
  r.pattern = f.text("pattern");
  r.bound = f.text("bound");
  r.worst = f.any("worst");
  if (!r.worst.is_array()) f.fail("worst", "is not a list");
  for (const json& cell : r.worst) {
    const bool right = cell.is_object() && cell.size() == 4 && std::ranges::all_of(cell, &json::is_string) &&
                       cell.contains("where") && cell.contains("actual") && cell.contains("expected") &&
                       cell.contains("bound");
    if (!right) f.fail("worst", "holds a cell without the four texts where, actual, expected, bound");
  }
  r.trial = f.any("trial");
  if (!r.trial.is_object() && !r.trial.is_null()) f.fail("trial", "is not an object");
  r.trial_text = f.text("trial_text");
  r.trial_file = f.text("trial_file");
  r.replay = f.text("replay");
  r.cases_until_caught = f.count("cases_until_caught");
  r.shrink_runs = f.count("shrink_runs");
  r.seconds_until_shrunk = f.duration("seconds_until_shrunk");
  r.minimal = f.flag("minimal");
  r.confirmed = f.text("confirmed");
  r.worker_output = f.text("worker_output");
  f.attribution(attribution_of(verdict_of(r.reason), r.reason));
  f.maybe("maps", r.maps, cell_maps_from);
  return r;
}

ResumeRecord resume_from(Fields& f) {
  ResumeRecord r;
  r.started = f.text("started");
  r.kept = f.count("kept");
  return r;
}

EndRecord end_from(Fields& f) {
  EndRecord r;
  r.verdict = f.text("verdict");
  r.exit_code = static_cast<int>(f.natural("exit_code", 4));
  r.seconds = f.duration("seconds");
  r.why = f.text("why");
  const bool fits = (r.verdict == "PASS" && r.exit_code == 0) || (r.verdict == "FAIL" && r.exit_code == 1) ||
                    (r.verdict == "NO_DECISION" && r.exit_code >= 2);
  if (!fits) f.fail("verdict", shown(r.verdict) + " does not go with exit code " + std::to_string(r.exit_code));
  f.attribution(attribution_of_run(r));
  return r;
}

template <class Time>
void add_time(Time& time, double milliseconds) {
  ++time.trials;
  time.milliseconds += milliseconds;
  time.slowest = std::max(time.slowest, milliseconds);
}

void count_trial(RunResults& results, const TrialRecord& trial) {
  ++results.trials;
  const auto same = [&](const SlotTime& t) { return t.slot == trial.subject.slot && t.device == trial.subject.device; };
  auto at = std::ranges::find_if(results.times, same);
  if (at == results.times.end()) {
    results.times.push_back({trial.subject.slot, trial.subject.device});
    at = results.times.end() - 1;
  }
  add_time(*at, trial.milliseconds);
  auto drive = std::ranges::find(results.drives, trial.drive, &DriveTime::drive);
  if (drive == results.drives.end()) drive = results.drives.insert(drive, {trial.drive});
  add_time(*drive, trial.milliseconds);
}

template <class Record>
void add_once(std::vector<Record>& records, Record record, const char* kind) {
  const auto same = [&](const Record& other) { return other.subject == record.subject; };
  if (std::ranges::any_of(records, same)) refuse(std::string("a second ") + kind + " line for the same subject");
  records.push_back(std::move(record));
}

// A finding is never lost: one of a unit that was begun again stands until the same rule fails there again.
void add_failure(RunResults& results, FailureRecord failure) {
  const auto end = results.failures.begin() + static_cast<std::ptrdiff_t>(results.earlier_failures);
  const auto earlier = std::ranges::find(results.failures.begin(), end, failure.subject, &FailureRecord::subject);
  if (earlier != end) {
    results.failures.erase(earlier);
    --results.earlier_failures;
  }
  results.failures.push_back(std::move(failure));
}

void add_resume(RunResults& results, ResumeRecord resume) {
  if (resume.kept != static_cast<std::int64_t>(results.cases.size()))
    refuse("in the resume line kept says " + std::to_string(resume.kept) + " units, and " +
           std::to_string(results.cases.size()) + " have a cases line before it");
  const auto unfinished = [&](const auto& record) {
    Subject unit = record.subject;
    unit.rule.clear();
    return std::ranges::find(results.cases, unit, &CasesRecord::subject) == results.cases.end();
  };
  std::erase_if(results.rules, unfinished);
  std::erase_if(results.failures,
                [&](const FailureRecord& f) { return unfinished(f) && !fails_run(verdict_of(f.reason)); });
  const auto kept = std::ranges::stable_partition(results.failures, unfinished);
  results.earlier_failures = static_cast<std::size_t>(kept.begin() - results.failures.begin());
  results.resumes.push_back(std::move(resume));
}

}  // namespace

json worst_cell(std::string_view where, double actual, double expected, double bound) {
  return {{"where", repaired(where)},
          {"actual", number_text(actual)},
          {"expected", number_text(expected)},
          {"bound", number_text(bound)}};
}

json to_json(const RunRecord& r) {
  json j = line_of("run", {});
  j["schema"] = results_schema;
  j["assay_version"] = repaired(r.assay_version);
  j["library"] = repaired(r.library);
  j["library_sha256"] = repaired(r.library_sha256);
  j["library_name"] = repaired(r.library_name);
  j["library_version"] = repaired(r.library_version);
  j["devices"] = list_of_texts(r.devices);
  j["tier"] = repaired(r.tier);
  j["isolation"] = repaired(r.isolation);
  j["seed"] = r.seed;
  j["started"] = repaired(r.started);
  j["command"] = repaired(r.command);
  for (const auto& [key, value] :
       {std::pair("nccl", &r.nccl), {"nccl_version", &r.nccl_version}, {"nccl_sha256", &r.nccl_sha256}})
    if (!value->empty()) j[key] = repaired(*value);
  if (r.gate) j["gate"] = to_json(*r.gate);
  return j;
}

json to_json(const TrialRecord& r) {
  json j = line_of("trial", r.subject);
  j["drive"] = repaired(r.drive);
  j["trial_digest"] = repaired(r.trial_digest);
  j["milliseconds"] = r.milliseconds;
  json judgements = json::object();
  for (const auto& [rule, verdict] : r.judgements) {
    if (judgements.contains(rule)) refuse("rule " + shown(rule) + " judged one trial twice");
    judgements[rule] = name_of(verdict);
  }
  j["judgements"] = std::move(judgements);
  return j;
}

json to_json(const CasesRecord& r) {
  json j = line_of("cases", r.subject);
  j["distinct"] = r.distinct;
  j["outside_domain"] = r.outside_domain;
  if (!r.tried.empty()) j["tried"] = to_json(r.tried);
  return j;
}

json to_json(const RuleRecord& r) {
  json j = line_of("rule", r.subject);
  j["verdict"] = name_of(r.verdict);
  j["reason"] = name_of(r.reason);
  j["attribution"] = name_of(attribution_of(r.verdict, r.reason));
  j["judged"] = r.judged;
  j["evidence"] = r.evidence;
  j["warnings"] = list_of_texts(r.warnings);
  j["text"] = repaired(r.text);
  return j;
}

json to_json(const FailureRecord& r) {
  json j = line_of("failure", r.subject);
  j["reason"] = name_of(r.reason);
  j["attribution"] = name_of(attribution_of(verdict_of(r.reason), r.reason));
  j["text"] = repaired(r.text);
  j["label"] = repaired(r.label);
  j["pattern"] = repaired(r.pattern);
  j["bound"] = repaired(r.bound);
  j["worst"] = repaired_strings(r.worst);
  j["trial"] = repaired_strings(r.trial);
  j["trial_text"] = repaired(r.trial_text);
  j["trial_file"] = repaired(r.trial_file);
  j["replay"] = repaired(r.replay);
  j["cases_until_caught"] = r.cases_until_caught;
  j["shrink_runs"] = r.shrink_runs;
  j["seconds_until_shrunk"] = r.seconds_until_shrunk;
  j["minimal"] = r.minimal;
  j["confirmed"] = repaired(r.confirmed);
  j["worker_output"] = repaired(r.worker_output);
  for (const CellMap& map : r.maps) j["maps"].push_back(to_json(map));
  return j;
}

json to_json(const ResumeRecord& r) {
  json j = line_of("resume", {});
  j["started"] = repaired(r.started);
  j["kept"] = r.kept;
  return j;
}

json to_json(const EndRecord& r) {
  json j = line_of("end", {});
  j["verdict"] = repaired(r.verdict);
  j["attribution"] = name_of(attribution_of_run(r));
  j["exit_code"] = r.exit_code;
  j["seconds"] = r.seconds;
  j["why"] = repaired(r.why);
  return j;
}

void add_line(RunResults& results, std::string_view line) {
  json object;
  try {
    object = parse_strict(line, "results", results_line_limit);
  } catch (const JsonError& error) {
    refuse(error.what());
  }
  if (!object.is_object() || !object.contains("kind") || !object["kind"].is_string()) {
    refuse("a line of results is an object with a kind");
  }
  const auto kind = object["kind"].get<std::string>();
  if (results.has_end) refuse("nothing may follow the end line");
  if (!results.has_run && kind != "run") refuse("the first line has to be the run's, not a " + shown(kind) + " line");
  if (results.has_run && kind == "run") refuse("a second run line");

  Fields f(object, kind);
  (void)f.any("kind");
  // Everything is read and checked before anything is changed.
  const auto checked = [&](auto record) {
    f.done();
    return record;
  };
  if (kind == "run") {
    results.run = checked(run_from(f));
    results.has_run = true;
  } else if (kind == "trial") {
    count_trial(results, checked(trial_from(f)));
  } else if (kind == "cases") {
    add_once(results.cases, checked(cases_from(f)), "cases");
  } else if (kind == "rule") {
    add_once(results.rules, checked(rule_from(f)), "rule");
  } else if (kind == "failure") {
    add_failure(results, checked(failure_from(f)));
  } else if (kind == "resume") {
    add_resume(results, checked(resume_from(f)));
  } else if (kind == "end") {
    results.end = checked(end_from(f));
    results.has_end = true;
  } else {
    refuse("no such kind of line: " + shown(kind));
  }
}

}  // namespace assay
