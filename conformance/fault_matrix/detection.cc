#include "conformance/fault_matrix/detection.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "conformance/candidate.hpp"
#include "conformance/examiner.hpp"
#include "harness/device/memory.hpp"
#include "harness/device/owned_fd.hpp"
#include "harness/drive/drives.hpp"

namespace assay {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// A results file that no other process sees.
class PrivateResults {
 public:
  PrivateResults() : fd_(memfd_create("fault-matrix", MFD_CLOEXEC)), writer_(fd_.get()) {
    writer_.line(to_json(RunRecord{}));
  }
  ResultWriter& writer() noexcept { return writer_; }
  [[nodiscard]] RunResults read() const { return read_results("/proc/self/fd/" + std::to_string(fd_.get())); }

 private:
  OwnedFd fd_;
  ResultWriter writer_;
};

std::vector<Unit> units_of(const Candidate& candidate, DeviceType device) {
  std::vector<Unit> units;
  for (const CandidateVariant& v : candidate.variants)
    if (v.device == device)
      for (const DType dtype : {DType::bf16, DType::f16, DType::f32})
        for (const int ranks : v.slot->kind == Kind::collective ? std::vector<int>{2, 4} : std::vector<int>{1})
          units.push_back({&v, dtype, ranks});
  return units;
}

std::vector<SlotOverlap> overlaps_of(const Candidate& candidate, DeviceType device) {
  std::vector<const CandidateVariant*> variants;
  for (const CandidateVariant& v : candidate.variants)
    if (v.device == device) variants.push_back(&v);
  return overlaps_among(variants);
}

// Ranks that share a GPU wait for no other judge's turn here: their drives are as long as with a GPU each.
Sharing all_of_each(int) { return Sharing::none; }

bool blames(const FaultRow& row, Reason reason) {
  return std::find(row.blame.begin(), row.blame.end(), reason) != row.blame.end();
}

std::string demanded(const FaultRow& row) {
  std::string text = "a failure";
  for (const Reason reason : row.blame)
    text += (reason == row.blame.front() ? " for " : " or ") + std::string(name_of(reason));
  return text;
}

}  // namespace

struct Laboratory::State {
  LaboratoryConfig config;
  std::unique_ptr<MemoryDomain> domain;
  ReferenceModule references;

  explicit State(LaboratoryConfig c)
      : config(std::move(c)),
        domain(config.device == DeviceType::cuda ? make_cuda_memory(config.ordinal) : make_host_memory()),
        references(config.reference) {}

  WorkerConfig worker(const std::string& library) const {
    WorkerConfig w;
    w.worker = config.worker;
    w.library = std::filesystem::absolute(library);
    w.device = config.device;
    w.ordinal = config.ordinal;
    w.data_limit = usual_data_limit();
    return w;
  }
  std::string architecture() const { return config.device == DeviceType::cuda ? domain->architecture() : "cpu"; }
  std::string too_large(const FaultRow& row, const Unit& unit, const RuleSpec& rule, Bench& bench, const Trial& trial);
};

Laboratory::Laboratory(LaboratoryConfig config) : state_(std::make_unique<State>(std::move(config))) {}
Laboratory::~Laboratory() = default;

// Why the shrunk trial is not what the row expects; empty: it is.
std::string Laboratory::State::too_large(const FaultRow& row, const Unit& unit, const RuleSpec& rule, Bench& bench,
                                         const Trial& trial) {
  for (const auto& [what, value] : row.minimal) {
    if (what != "history") {
      const auto& dims = trial.part.cases.front().dims;
      if (const auto at = dims.find(what); at == dims.end() || at->second != value)
        return "shrunk to " + what + "=" + (at == dims.end() ? "nothing" : std::to_string(at->second)) + ", not to " +
               std::to_string(value);
      continue;
    }
    if (trial.history.size() != static_cast<std::size_t>(value))
      return "shrunk to a history of " + std::to_string(trial.history.size()) + ", not of " + std::to_string(value);
    Trial alone = trial;
    alone.history.clear();
    bench.use(*unit.variant->slot, unit.variant->info);
    bench.retire_worker();
    if (judge(rule, observe(bench, alone, Tier::quick)).verdict == Verdict::fail)
      return "the shrunk case fails without its history";
  }
  return {};
}

Detection Laboratory::detect(const FaultRow& row, const std::string& library) {
  State& s = *state_;
  Detection d;
  d.stem = row.stem;
  d.rule = row.rule;
  const auto start = Clock::now();
  const WorkerConfig worker = s.worker(library);
  Candidate candidate;
  try {
    candidate = load_candidate(worker);
  } catch (const LibraryRefused& refused) {
    d.miss = refused.what();
    return d;
  }
  if (!candidate.errors.empty()) {
    d.miss = "refused at load: " + candidate.errors.front();
    return d;
  }
  if (candidate.fault) {
    d.reason = name_of(candidate.fault->reason);
    d.seconds_until_caught = d.seconds_until_shrunk = seconds_since(start);
    d.trial = "load";
    d.confirmed = "nothing to shrink";
    if (!blames(row, candidate.fault->reason)) d.miss = "died at load (" + d.reason + ")";
    return d;
  }

  if (const auto overlaps = overlaps_of(candidate, s.config.device); !overlaps.empty()) {
    d.reason = name_of(Reason::overlap);
    d.seconds_until_caught = d.seconds_until_shrunk = seconds_since(start);
    d.trial = "load";
    d.confirmed = "nothing to shrink";
    if (row.rule != "route.disjoint") d.miss = "refused at load: " + overlaps.front().overlap.text();
    return d;
  }

  BenchConfig on;
  on.worker = worker;
  on.sharing = all_of_each;
  Bench bench(on, *s.domain, s.references);
  std::string seen;
  for (const Unit& unit : units_of(candidate, s.config.device)) {
    if (unit.variant->slot->id != row.slot) continue;
    PrivateResults results;
    ExaminerConfig config;
    config.seed = s.config.seed;
    config.architecture = s.architecture();
    for (const RuleSpec* rule : rule_catalogue())
      if (row.any_rule() || rule->id == row.rule) config.rules.push_back(rule);
    Examiner examiner(config, bench, results.writer());
    for (const RuleSpec* rule : config.rules) {
      const RuleRecord record = examiner.examine(unit, *rule);
      if (record.verdict != Verdict::fail) {
        if (record.verdict != Verdict::pass && record.verdict != Verdict::not_applicable)
          seen = std::string(name_of(record.verdict)) + " " + std::string(name_of(record.reason)) + ": " + record.text;
        continue;
      }
      const FailureRecord failure = results.read().failures.back();
      if (!row.blame.empty() && !blames(row, failure.reason)) {
        seen = rule->id + " fails for " + std::string(name_of(failure.reason)) + ": " + failure.text;
        if (row.any_rule()) break;  // the rest fails for the same reason
        continue;
      }
      d.rule = rule->id;
      d.dtype = name_of(unit.dtype);
      d.reason = name_of(failure.reason);
      d.cases_until_caught = failure.cases_until_caught;
      d.shrink_runs = failure.shrink_runs;
      d.seconds_until_shrunk = seconds_since(start);
      d.seconds_until_caught = d.seconds_until_shrunk - failure.seconds_until_shrunk;
      d.trial = failure.trial_text;
      d.confirmed = failure.confirmed;
      d.minimal = failure.minimal;
      if (d.confirmed.rfind("fresh worker", 0) != 0)
        d.miss = "not confirmed: " + d.confirmed;
      else
        d.miss = s.too_large(row, unit, *rule, bench, trial_from_json(failure.trial));
      return d;
    }
  }
  d.seconds_until_caught = d.seconds_until_shrunk = seconds_since(start);
  d.miss = seen.empty() ? "no " + demanded(row).substr(2) + " in any dtype" : "wanted " + demanded(row) + "; " + seen;
  return d;
}

std::vector<Complaint> Laboratory::examine_right(const std::string& library, std::uint64_t seed) {
  State& s = *state_;
  std::vector<Complaint> complaints;
  const WorkerConfig worker = s.worker(library);
  const Candidate candidate = load_candidate(worker);
  for (const std::string& error : candidate.errors) complaints.push_back({seed, error});
  if (candidate.fault) complaints.push_back({seed, candidate.fault->text});
  if (!complaints.empty()) return complaints;
  for (const SlotOverlap& o : overlaps_of(candidate, s.config.device))
    complaints.push_back({seed, o.slot->id + " route.disjoint: " + o.overlap.text()});
  const std::vector<Unit> units = units_of(candidate, s.config.device);
  if (units.empty()) complaints.push_back({seed, "the library offers nothing for this device"});
  PrivateResults results;
  BenchConfig on;
  on.worker = worker;
  on.sharing = all_of_each;
  Bench bench(on, *s.domain, s.references);
  ExaminerConfig config;
  config.seed = seed;
  config.architecture = s.architecture();
  config.rules = rule_catalogue();
  Examiner examiner(config, bench, results.writer());
  for (const Unit& unit : units) {
    for (const RuleSpec* rule : config.rules) {
      const RuleRecord r = examiner.examine(unit, *rule);
      if (passes_run(r.verdict) || r.verdict == Verdict::not_applicable) continue;
      std::string text = r.subject.slot + " " + r.subject.dtype + " " + rule->id + ": " +
                         std::string(name_of(r.verdict)) + " " + std::string(name_of(r.reason)) + ": " + r.text;
      if (r.verdict == Verdict::fail) {
        const FailureRecord f = results.read().failures.back();
        text += " [" + f.trial_text + "; " + f.confirmed + "]";
      }
      complaints.push_back({seed, std::move(text)});
    }
    examiner.finish(unit);
  }
  return complaints;
}

}  // namespace assay
