#include "conformance/shard.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <map>

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
  std::map<DeviceType, Judge> judges;
  std::vector<const RuleSpec*> rules;
  Waivers waivers;

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
    if (device == DeviceType::cuda && options.device_lock >= 0) {
      // An open file of this judge's own: flock tells open files apart, not descriptors.
      j.lock = OwnedFd(open(("/proc/self/fd/" + std::to_string(options.device_lock)).c_str(), O_RDWR | O_CLOEXEC));
      if (j.lock.get() >= 0) config.device_lock = j.lock.get();
    }
    const auto sharing = [device, first = options.ordinal](int ranks) {
      if (device != DeviceType::cuda || !ranks_share(ranks, count_cuda_devices(), first)) return Sharing::none;
      return under_mps() ? Sharing::under_mps : Sharing::by_turns;
    };
    config.time_sliced = [sharing](int ranks) { return sharing(ranks) == Sharing::by_turns; };
    j.bench = std::make_unique<Bench>(config, *j.domain, references);
    ExaminerConfig examine;
    examine.tier = options.tier;
    examine.seed = options.seed;
    examine.rules = rules;
    examine.trial_folder = options.report.empty() ? "" : options.report + "/trials";
    examine.corpus = options.corpus;
    examine.waivers = &waivers;
    examine.program = options.called;
    if (!options.library.empty()) examine.replay_suffix += " --library " + shell_word(options.library);
    if (!options.worker.empty()) examine.replay_suffix += " --worker " + shell_word(options.worker);
    if (options.gate) examine.replay_suffix += " --gate";
    examine.architecture = device == DeviceType::cuda ? j.domain->architecture() : "cpu";
    examine.sharing = sharing;
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
  return rule.id + "/" + s.variant + "/" + s.device + "/" + s.dtype + "/" + std::to_string(s.ranks);
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

int parts_of(std::size_t units, int judges, Tier tier) {
  const std::size_t enough = static_cast<std::size_t>(judges) * (tier == Tier::quick ? 3 : 6);
  int parts = 1;
  while (parts < std::min(judges, kMostParts) && units * static_cast<std::size_t>(parts) < enough &&
         (tier != Tier::quick || units * static_cast<std::size_t>(parts) % static_cast<std::size_t>(judges) != 0))
    ++parts;
  return parts;
}

std::vector<Unit> share_of(const std::vector<Unit>& units, int judge, int judges, int parts) {
  std::vector<Unit> mine;
  for (std::size_t u = 0; u < units.size(); ++u)
    for (int part = 0; part < parts; ++part) {
      if ((static_cast<int>(u) * parts + part) % judges != judge) continue;
      mine.push_back(units[u]);
      mine.back().part = part;
      mine.back().parts = parts;
    }
  return mine;
}

void run_shard(const Options& options, const Candidate& candidate, const std::vector<Unit>& units, ResultWriter& writer,
               std::function<void(const std::string&)> on_receipt) {
  // Tensors of a size come and go with every trial: keep their pages.
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  Context context{options, candidate, units, writer, std::move(on_receipt), ReferenceModule(reference_path()), {}, {}, {}};
  context.rules = selected_rules(options);
  // Elsewhere the parent applies them, to what its judges say together.
  if (options.in_process && !options.waivers.empty()) context.waivers = Waivers::read(options.waivers, today_utc());
  for (const Unit& unit : context.units)
    for (const RuleSpec* rule : context.rules)
      testing::RegisterTest(unit.variant->slot->id.c_str(), name_of_case(unit, *rule).c_str(), nullptr, nullptr, __FILE__,
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
