#include "conformance/commands.hpp"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <set>

#include "conformance/installation.hpp"
#include "conformance/patience.hpp"
#include "conformance/targets/contract_rules.hpp"
#include "harness/case/generate.hpp"
#include "harness/case/json.hpp"
#include "harness/drive/drives.hpp"
#include "harness/tensor/philox.hpp"

namespace assay {
namespace {

std::string flags_text(std::uint32_t flags) {
  std::string text;
  const auto add = [&](std::uint32_t bit, const char* name) {
    if (flags & bit) text += (text.empty() ? "" : " ") + std::string(name);
  };
  add(ASSAY_GRAPH_SAFE, "GRAPH_SAFE");
  add(ASSAY_DETERMINISTIC, "DETERMINISTIC");
  add(ASSAY_SERIAL, "SERIAL");
  return text.empty() ? "-" : text;
}

template <class T>
bool chosen(const std::vector<T>& filter, const T& value) {
  return filter.empty() || std::find(filter.begin(), filter.end(), value) != filter.end();
}

// One process has one host model, and so one rank.
std::set<int> ranks_of(const Options& options, const SlotSpec& slot) {
  if (slot.kind != Kind::collective || options.in_process) return {1};
  if (options.ranks.empty()) return {2, 4};
  return {options.ranks.begin(), options.ranks.end()};
}

}  // namespace

WorkerConfig worker_config(const Options& options, DeviceType device) {
  WorkerConfig config;
  config.worker = options.worker.empty() ? worker_path() : options.worker;
  config.library = options.library;
  config.device = device;
  config.ordinal = options.ordinal;
  config.in_process = options.in_process;
  config.isolation = options.isolation;
  config.data_limit = usual_data_limit();
  return config;
}

std::optional<int> isolate(Options& options) {
  if (!options.gate) return std::nullopt;
  // Judges of one run draw what onlookers see of their workers each for itself.
  options.isolation = Isolation::establish(
      worker_path(), derive_key(options.seed, "isolation", static_cast<std::uint64_t>(options.shard + 1)));
  if (options.isolation->level() >= options.require_isolation) return std::nullopt;
  std::fprintf(stderr, "assay: --require-isolation %s: this machine gives %s\n",
               std::string(name_of(options.require_isolation)).c_str(), options.isolation->text().c_str());
  return static_cast<int>(ExitCode::no_decision);
}

std::string today_utc() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[16];
  std::strftime(text, sizeof text, "%Y-%m-%d", &parts);
  return text;
}

int refuse(const std::string& sentence) {
  std::fprintf(stderr, "assay: %s\n", sentence.c_str());
  return static_cast<int>(ExitCode::bad_input);
}

std::optional<Candidate> load_or_refuse(const Options& options, int& exit_code) {
  if (options.library.empty() && options.worker.empty()) {
    exit_code = refuse("no library is named: give the path of a candidate's shared library");
    return std::nullopt;
  }
  for (const std::string& id : options.slots)
    if (!find_slot(id)) {
      exit_code = refuse("no such slot: '" + id + "'; `assay list slots` names them");
      return std::nullopt;
    }
  for (const std::string& id : options.rules)
    if (!find_rule(id)) {
      exit_code = refuse("no such rule: '" + id + "'; `assay list rules` names them");
      return std::nullopt;
    }
  try {
    Candidate candidate = load_candidate(worker_config(options, DeviceType::host));
    for (const std::string& error : candidate.errors) std::fprintf(stderr, "assay: %s\n", error.c_str());
    if (!candidate.errors.empty()) {
      exit_code = static_cast<int>(ExitCode::bad_input);
      return std::nullopt;
    }
    return candidate;
  } catch (const LibraryRefused& error) {
    exit_code = refuse(error.what());
  } catch (const JsonError& error) {
    exit_code = refuse(std::string("the library's table is not readable: ") + error.what());
  } catch (const WorkerUnavailable& error) {
    // Named by the user, a missing worker is bad input; our own is a broken installation.
    exit_code = refuse(error.what());
    if (options.worker.empty()) exit_code = static_cast<int>(ExitCode::internal);
  }
  return std::nullopt;
}

std::vector<Unit> units_of(const Options& options, const Candidate& candidate, std::string& why_none) {
  std::vector<Unit> units;
  bool slot = false, variant = false, device = false;
  for (const SlotSpec* s : slot_catalogue())
    for (const CandidateVariant& v : candidate.variants) {
      if (v.slot != s || !chosen(options.slots, s->id)) continue;
      slot = true;
      if (!chosen(options.variants, v.info.id)) continue;
      variant = true;
      if (!chosen(options.devices, v.device)) continue;
      device = true;
      for (const DType dtype : {DType::bf16, DType::f16, DType::f32})
        for (const int ranks : ranks_of(options, *s))
          if (chosen(options.dtypes, dtype)) units.push_back({&v, dtype, ranks});
    }
  for (Unit& unit : units)
    unit.variants = static_cast<int>(std::count_if(units.begin(), units.end(), [&](const Unit& other) {
      return other.variant->slot == unit.variant->slot && other.variant->device == unit.variant->device &&
             other.dtype == unit.dtype && other.ranks == unit.ranks;
    }));
  if (units.empty())
    why_none = candidate.variants.empty() ? "the library offers no slot that this build judges"
               : !slot                    ? "the library does not offer the slots that --slot names"
               : !variant                 ? "the library has no variant that --variant names"
               : !device                  ? "the library has no variant for the devices that --device names"
                                          : "--dtype leaves nothing to judge; take bf16, fp16 or fp32";
  return units;
}

int replay_command(const Options& given) {
  Options options = given;
  Trial trial;
  try {
    trial = read_trial(options.trial);
  } catch (const std::invalid_argument& error) {
    return refuse(error.what());
  }
  static_cast<void>(isolate(options));
  if (options.gate) std::printf("isolation: %s\n", options.isolation->text().c_str());
  int exit_code = 0;
  auto candidate = load_or_refuse(options, exit_code);
  if (!candidate) return exit_code;
  if (candidate->fault) {
    std::printf("FAIL %s: %s\n", std::string(name_of(candidate->fault->reason)).c_str(), candidate->fault->text.c_str());
    return static_cast<int>(ExitCode::fail);
  }
  const std::string& slot = trial.part.cases.front().slot;
  const CandidateVariant* variant = nullptr;
  for (const CandidateVariant& v : candidate->variants)
    if (v.slot->id == slot && v.device == trial.device && (v.info.id == trial.variant || !variant)) variant = &v;
  if (!variant)
    return refuse("the library offers no " + slot + " on " + std::string(name_of(trial.device)) +
                  ", which the trial is about");
  for (TrialPart* part : [&] {
         std::vector<TrialPart*> parts{&trial.part};
         for (TrialPart& p : trial.history) parts.push_back(&p);
         return parts;
       }())
    for (Case& c : part->cases) {
      if (c.slot != slot) return refuse(options.trial + " mixes cases of several slots");
      const Case before = c;
      repair(*variant->slot, c);
      if (!(before == c)) return refuse(options.trial + " holds a case that is not legal for " + slot + ": " + describe(before));
    }
  if (options.in_process && trial.part.cases.front().world > 1)
    return refuse("one process holds one rank, and the trial has " + std::to_string(trial.part.cases.front().world) +
                  ": leave --in-process out");
  try {
    auto domain = trial.device == DeviceType::cuda ? make_cuda_memory(options.ordinal) : make_host_memory();
    ReferenceModule references(reference_path());
    BenchConfig config;
    config.worker = worker_config(options, trial.device);
    Bench bench(config, *domain, references);
    bench.use(*variant->slot, variant->info);
    int wary = 1;
    const Observation seen = observe_patiently(bench, trial, Tier::gate, wary);
    bool failed = false, undecided = false;
    int judged = 0;
    for (const RuleSpec* rule : rule_catalogue()) {
      if (std::find(rule->drives.begin(), rule->drives.end(), trial.part.drive) == rule->drives.end()) continue;
      if (!chosen(options.rules, rule->id) || !applies(*rule, *variant->slot, variant->device)) continue;
      if (!declared_for(*rule, variant->info.flags)) continue;
      const Judgement j = judge(*rule, seen);
      if (j.verdict == Verdict::not_applicable) continue;
      ++judged;
      failed = failed || j.verdict == Verdict::fail;
      undecided = undecided || j.verdict == Verdict::no_decision;
      std::printf("%-5s %s", std::string(name_of(j.verdict)).c_str(), rule->id.c_str());
      if (j.verdict != Verdict::pass) {
        std::printf(": %s: %s", std::string(name_of(j.reason)).c_str(), j.text.c_str());
        if (!j.label.empty()) std::printf(" [%s]", j.label.c_str());
        if (!j.pattern.empty()) std::printf("\n      where: %s", j.pattern.c_str());
        for (std::size_t i = 0; i < std::min<std::size_t>(3, j.worst.size()); ++i)
          std::printf("\n      %s is %.9g, expected %.9g, bound %.3g", j.worst[i].where.c_str(), j.worst[i].actual,
                      j.worst[i].expected, j.worst[i].bound);
      }
      std::printf("\n");
    }
    if (failed) return static_cast<int>(ExitCode::fail);
    if (undecided || judged == 0) {
      std::printf("NO_DECISION: %s\n", judged ? "the machine was at fault" : "no rule judges this trial");
      return static_cast<int>(ExitCode::no_decision);
    }
    return 0;
  } catch (const DeviceError& error) {
    std::printf("NO_DECISION: %s\n", error.what());
    return static_cast<int>(ExitCode::no_decision);
  }
}

int list_command(const Options& options) {
  if (options.topic == "slots") {
    for (const SlotSpec* s : slot_catalogue())
      std::printf("%-28s %-6s %s\n", s->id.c_str(), std::string(name_of(s->kind)).c_str(), s->summary.c_str());
    return 0;
  }
  if (options.topic == "rules") {
    for (const RuleSpec* r : rule_catalogue()) std::printf("%-30s %s\n", r->id.c_str(), r->sentence.c_str());
    return 0;
  }
  int exit_code = 0;
  const auto candidate = load_or_refuse(options, exit_code);
  if (!candidate) return exit_code;
  if (candidate->fault) {
    std::printf("FAIL %s: %s\n", std::string(name_of(candidate->fault->reason)).c_str(), candidate->fault->text.c_str());
    return static_cast<int>(ExitCode::fail);
  }
  std::printf("%s %s\n", candidate->name.c_str(), candidate->version.c_str());
  for (const CandidateVariant& v : candidate->variants)
    std::printf("%-28s %-20s %-5s %-26s %s\n", v.slot->id.c_str(), v.info.id.c_str(),
                std::string(name_of(v.device)).c_str(), flags_text(v.info.flags).c_str(),
                v.domain.encode() == "{}" ? "whole slot" : v.domain.encode().c_str());
  for (const std::string& note : candidate->notes) std::printf("note: %s\n", note.c_str());
  return 0;
}

int explain_command(const Options& options) {
  if (const RuleSpec* r = find_rule(options.topic)) {
    std::printf("%s\n\n  %s\n\nHow it is made visible: %s.\nDrives:", r->id.c_str(), r->sentence.c_str(), r->how.c_str());
    for (const Drive d : r->drives) std::printf(" %s", std::string(name_of(d)).c_str());
    std::printf("\nSlot kinds:");
    for (const Kind k : r->kinds) std::printf(" %s", std::string(name_of(k)).c_str());
    std::printf("\nDevices:");
    for (const DeviceType d : r->devices) std::printf(" %s", std::string(name_of(d)).c_str());
    if (r->needs_flags) std::printf("\nOnly for variants that declare: %s", flags_text(r->needs_flags).c_str());
    if (r->excused_by_flags) std::printf("\nNot for variants that declare: %s", flags_text(r->excused_by_flags).c_str());
    std::printf("\n");
    return 0;
  }
  if (const SlotSpec* s = find_slot(options.topic)) {
    std::printf("%s (%s)\n\n  %s\n\nArguments, after assay_call:\n", s->id.c_str(),
                std::string(name_of(s->kind)).c_str(), s->summary.c_str());
    for (const ArgumentSpec& a : s->arguments) {
      std::string shape;
      for (const std::string& e : a.extents) shape += (shape.empty() ? "" : ", ") + e;
      const char* role = a.kind == 'i' ? "input" : a.kind == 'o' ? "output" : "scalar";
      std::printf("  %-10s %-7s", a.name.c_str(), role);
      if (a.kind == 'i' || a.kind == 'o')
        std::printf(" (%s) %s, %s, %lld-byte aligned%s", shape.c_str(),
                    a.dtype ? std::string(name_of(*a.dtype)).c_str() : "run dtype",
                    a.strided ? "rows may lie at a pitch" : "contiguous", static_cast<long long>(a.alignment),
                    a.kind == 'i' ? a.dynamic ? ", changes between replays" : ", static" : "");
      std::printf("\n");
    }
    std::printf("Dims:\n");
    for (const DimSpec& d : s->dims)
      std::printf("  %-10s %lld to %lld\n", d.name.c_str(), static_cast<long long>(d.min), static_cast<long long>(d.max));
    std::printf("Values:");
    for (const RecipeSpec& r : s->recipes) std::printf(" %s", r.name.c_str());
    std::printf("\nComparator: %s, floor %g\n", std::string(name_of(s->comparator.mode)).c_str(), s->comparator.floor);
    return 0;
  }
  for (const CatalogueRule& r : catalogue_rules())
    if (options.topic == r.id) {
      std::printf("%s\n\n  %s\n\nHow it is made visible: %s.\nSubject: the slot catalogue; our own tests run it.\n", r.id,
                  r.sentence, r.how);
      return 0;
    }
  return refuse("no such rule or slot: '" + options.topic + "'; `assay list rules` and `assay list slots` name them");
}

}  // namespace assay
