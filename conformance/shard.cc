#include "conformance/shard.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <map>

#include "conformance/claims.hpp"
#include "conformance/command_line.hpp"
#include "conformance/gate_facts.hpp"
#include "conformance/installation.hpp"
#include "harness/device/cuda/cuda_device.hpp"
#include "harness/device/memory.hpp"
#include "harness/device/owned_fd.hpp"
#include "harness/rank/placing.hpp"

namespace assay {
namespace {

constexpr int kMostParts = 8;

// What one device's units share.
struct Judge {
  OwnedFd lock;  // judges of one GPU take turns on it
  std::unique_ptr<MemoryDomain> domain;
  std::unique_ptr<Bench> bench;
  std::unique_ptr<Examiner> examiner;
  std::string absent;  // why there is no such device
};

struct Context {
  const Options& options;
  const Candidate& candidate;
  std::vector<Unit> units;
  ResultWriter& writer;
  std::function<void(const std::string&)> on_receipt;
  ReferenceModule references;
  Claims claims;
  std::map<const Unit*, bool> taken = {};  // by this judge, or by another
  std::map<DeviceType, Judge> judges = {};
  std::vector<const RuleSpec*> rules = {};
  Waivers waivers = {};

  // Whether the unit is this judge's: the first that asks has it.
  [[nodiscard]] bool takes(const Unit& unit) {
    const auto [at, fresh] = taken.try_emplace(&unit, false);
    if (fresh) at->second = claims.take(key_of(subject_of(unit)) + "\npart " + std::to_string(unit.part));
    return at->second;
  }

  Judge& judge(DeviceType device) {
    Judge& j = judges[device];
    if (j.bench || !j.absent.empty()) return j;
    try {
      j.domain = device == DeviceType::cuda ? make_cuda_memory(options.ordinal) : make_host_memory();
    } catch (const DeviceError& error) {
      j.absent = error.what();
      return j;
    }
    BenchConfig config;
    config.worker = worker_config(options, device);
    config.library_sha256 = candidate.sha256;
    config.on_receipt = on_receipt;
    config.contract_digest = registered_contract;
    if (device == DeviceType::cuda && options.shared_fd >= 0) {
      // An open file of this judge's own: flock tells open files apart, not descriptors.
      j.lock = OwnedFd(open(("/proc/self/fd/" + std::to_string(options.shared_fd)).c_str(), O_RDWR | O_CLOEXEC));
      if (j.lock.get() >= 0) config.device_lock = j.lock.get();
    }
    j.bench = std::make_unique<Bench>(config, *j.domain, references);
    ExaminerConfig examine;
    examine.tier = options.tier;
    examine.seed = options.seed;
    examine.rules = rules;
    examine.trial_folder = options.report.empty() ? "" : options.report + "/trials";
    examine.corpus = options.corpus;
    examine.waivers = &waivers;
    examine.claims = &claims;
    examine.program = options.called;
    if (!options.library.empty()) examine.replay_suffix += " --library " + shell_word(options.library);
    if (!options.worker.empty()) examine.replay_suffix += " --worker " + shell_word(options.worker);
    if (options.gate) examine.replay_suffix += " --gate";
    examine.architecture = device == DeviceType::cuda ? j.domain->architecture() : "cpu";
    j.examiner = std::make_unique<Examiner>(examine, *j.bench, writer);
    return j;
  }
};

// One rule on one unit. The verdict that counts is in the lines it writes; GoogleTest's is the same for those who read
// GoogleTest.
class RuleTest : public testing::Test {
 public:
  RuleTest(Context& context, const Unit& unit, const RuleSpec& rule) : context_(context), unit_(unit), rule_(rule) {}

  void TestBody() override {
    if (!context_.takes(unit_)) GTEST_SKIP() << "another judge's";
    Judge& judge = context_.judge(unit_.variant->device);
    RuleRecord record;
    if (!judge.examiner) {
      record = write_absent(judge.absent);
    } else {
      try {
        record = judge.examiner->examine(unit_, rule_);
      } catch (const DeviceError& error) {
        record = write_absent(error.what());
      }
    }
    if (judge.examiner && &rule_ == context_.rules.back()) judge.examiner->finish(unit_);
    if (record.verdict == Verdict::fail || record.verdict == Verdict::no_decision || record.verdict == Verdict::vacuous)
      ADD_FAILURE() << name_of(record.verdict) << " " << name_of(record.reason) << ": " << record.text;
    if (record.verdict == Verdict::not_applicable) GTEST_SKIP() << "not applicable";
  }

 private:
  [[nodiscard]] RuleRecord write_absent(const std::string& why) {
    RuleRecord record;
    record.subject = subject_of(unit_);
    record.subject.rule = rule_.id;
    record.verdict = Verdict::no_decision;
    record.reason = Reason::no_device;
    record.text = why;
    context_.writer.line(to_json(record));
    return record;
  }

  Context& context_;
  const Unit& unit_;
  const RuleSpec& rule_;
};

std::string name_of_case(const Unit& unit, const RuleSpec& rule) {
  const Subject s = subject_of(unit);
  return s.slot + "/" + rule.id + "/" + s.variant + "/" + s.device + "/" + s.dtype + "/" + std::to_string(s.ranks) +
         "/" + std::to_string(unit.part);
}

}  // namespace

std::vector<const RuleSpec*> selected_rules(const Options& options) {
  std::vector<const RuleSpec*> rules;
  for (const RuleSpec* rule : rule_catalogue())
    if (options.rules.empty() || std::find(options.rules.begin(), options.rules.end(), rule->id) != options.rules.end())
      rules.push_back(rule);
  const auto rank = [](const RuleSpec* rule) {
    const char* groups[] = {"write.", "input.", "number.", "relation.", "stream."};
    std::size_t r = 0;
    while (r < std::size(groups) && rule->id.rfind(groups[r], 0) != 0) ++r;
    return r;
  };
  std::stable_sort(rules.begin(), rules.end(),
                   [&](const RuleSpec* a, const RuleSpec* b) { return rank(a) < rank(b); });
  return rules;
}

int judges_for(std::size_t units, int cores) {
  return std::max(1, std::min(cores, kMostParts * static_cast<int>(units)));
}

int most_judges(const std::vector<Unit>& units, int cores) {
  constexpr int kClients = 40;  // MPS serves 48; workers come before the old ones have gone
  int ranks = 1;
  for (const Unit& unit : units)
    if (unit.variant->device == DeviceType::cuda) ranks = std::max(ranks, unit.ranks);
  return under_mps() ? std::min(cores, std::max(1, kClients / (ranks + 1))) : cores;
}

bool take_turns(const std::vector<Unit>& units, int first_device) {
  return std::any_of(units.begin(), units.end(), [&](const Unit& unit) {
    return unit.variant->device == DeviceType::cuda && unit.ranks > 1 &&
           sharing_of(unit.ranks, count_cuda_devices(), first_device) == Sharing::by_turns;
  });
}

int parts_of(std::size_t units, int judges, Tier tier) {
  const std::size_t enough = static_cast<std::size_t>(judges) * (tier == Tier::quick ? 3 : 12);
  int parts = 1;
  while (parts < std::min(judges, kMostParts) && units * static_cast<std::size_t>(parts) < enough &&
         (tier != Tier::quick || units * static_cast<std::size_t>(parts) % static_cast<std::size_t>(judges) != 0))
    ++parts;
  return parts;
}

std::vector<Unit> in_turn(const std::vector<Unit>& units, int judge, int judges, int parts) {
  std::vector<std::vector<Unit>> kinds;  // of one variant and number of ranks, whatever the dtype
  for (const Unit& unit : units) {
    const auto same = [&](const std::vector<Unit>& kind) {
      return kind.front().variant == unit.variant && kind.front().ranks == unit.ranks;
    };
    const auto kind = std::find_if(kinds.begin(), kinds.end(), same);
    if (kind == kinds.end())
      kinds.push_back({unit});
    else
      kind->push_back(unit);
  }
  std::vector<Unit> all;
  for (const std::vector<Unit>& kind : kinds)
    for (int part = 0; part < parts; ++part)
      for (Unit unit : kind) {
        unit.part = part;
        unit.parts = parts;
        all.push_back(unit);
      }
  const std::size_t first = all.size() * static_cast<std::size_t>(judge) / static_cast<std::size_t>(judges);
  std::rotate(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(first), all.end());
  return all;
}

void run_shard(const Options& options, const Candidate& candidate, const std::vector<Unit>& units, ResultWriter& writer,
               std::function<void(const std::string&)> on_receipt) {
  // Tensors of a size come and go with every trial: keep their pages.
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  Context context{.options = options,
                  .candidate = candidate,
                  .units = units,
                  .writer = writer,
                  .on_receipt = std::move(on_receipt),
                  .references = ReferenceModule(reference_path()),
                  .claims = Claims(options.shared_fd)};
  context.rules = selected_rules(options);
  // Elsewhere the parent applies them, to what its judges say together.
  if (options.in_process && !options.waivers.empty()) context.waivers = Waivers::read(options.waivers, today_utc());
  for (const Unit& unit : context.units)
    for (const RuleSpec* rule : context.rules)  // one suite: GoogleTest would bring those of one name together
      testing::RegisterTest("assay", name_of_case(unit, *rule).c_str(), nullptr, nullptr, __FILE__,
                            __LINE__, [&context, &unit, rule]() -> RuleTest* { return new RuleTest(context, unit, *rule); });
  // Arguments are the program's own; GoogleTest gets none, and its printer would drown the report.
  int argc = 1;
  char name[] = "assay";
  char* argv[] = {name, nullptr};
  testing::InitGoogleTest(&argc, argv);
  // What a test throws is a fault of ours: it ends this judge, and the run is no decision.
  GTEST_FLAG_SET(catch_exceptions, false);
  auto& listeners = testing::UnitTest::GetInstance()->listeners();
  delete listeners.Release(listeners.default_result_printer());
  [[maybe_unused]] const int by_googletest = RUN_ALL_TESTS();  // the lines decide
}

}  // namespace assay
