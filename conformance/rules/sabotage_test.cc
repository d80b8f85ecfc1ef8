// The sabotage pack of routing-and-targets.md R8: candidates that raise, stay silent, are never eligible, leave the
// work to stock, or are silent on one rank. None passes, and each fails, or decides nothing, as 8.4 says.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "assay/rule.hpp"
#include "conformance/examiner.hpp"
#include "harness/case/generate.hpp"
#include "harness/device/owned_fd.hpp"
#include "harness/drive/drives.hpp"
#include "harness/result/failure_table.hpp"

namespace assay {
namespace {

struct Examined {
  RuleRecord fired, other;
  std::vector<std::string> receipts;
  int trials = 0;
};

// Of receipt.fired, and of another rule after it.
Examined examine(const std::string& library, int ranks = 1, const char* other = nullptr) {
  WorkerConfig worker;
  worker.worker = ASSAY_WORKER;
  worker.library = library;
  worker.data_limit = usual_data_limit();
  const Candidate candidate = load_candidate(worker);
  EXPECT_FALSE(candidate.fault);
  EXPECT_EQ(candidate.variants.size(), 1u);
  Examined outcome;
  BenchConfig config;
  config.worker = worker;
  config.on_receipt = [&](const std::string& line) { outcome.receipts.push_back(line); };
  const auto memory = make_host_memory();
  ReferenceModule references(ASSAY_REFERENCES);
  Bench bench(config, *memory, references);
  const OwnedFd file(memfd_create("sabotage", MFD_CLOEXEC));
  ResultWriter writer(file.get());
  ExaminerConfig examine;
  examine.rules = {find_rule("receipt.fired")};
  if (other) examine.rules.push_back(find_rule(other));
  Examiner examiner(examine, bench, writer);
  const Unit unit{&candidate.variants.front(), DType::f32, ranks};
  outcome.fired = examiner.examine(unit, *examine.rules.front());
  if (other) outcome.other = examiner.examine(unit, *examine.rules.back());
  std::ifstream lines("/proc/self/fd/" + std::to_string(file.get()));
  for (std::string line; std::getline(lines, line);) outcome.trials += line.find("\"kind\":\"trial\"") != std::string::npos;
  return outcome;
}

std::string told(const Examined& o) {
  return std::string(name_of(o.fired.verdict)) + " " + std::string(name_of(o.fired.reason)) + " " +
         std::string(name_of(attribution_of(o.fired.verdict, o.fired.reason)));
}

int count(const Examined& o, ReceiptKind kind) {
  int n = 0;
  for (const std::string& line : o.receipts) n += decode(line).kind == kind;
  return n;
}

#ifdef ASSAY_FAULTY
const std::string kFaulty = ASSAY_FAULTY "/";

TEST(SabotagePack, ARaisingCandidateFails) {
  const Examined o = examine(kFaulty + "silu_error_status.so");
  EXPECT_EQ(told(o), "FAIL entry_failed candidate") << o.fired.text;
  EXPECT_GT(count(o, ReceiptKind::fired), 0);
  EXPECT_EQ(count(o, ReceiptKind::completed), 0);
  EXPECT_EQ(count(o, ReceiptKind::fallback), 0) << "nothing served it";
}

// A rule that excuses a failed call would else be asked about every case of the tier, on a GPU with a fresh worker each.
TEST(SabotagePack, ACandidateThatRaisesInEveryCallIsGivenUp) {
  const Examined o = examine(kFaulty + "silu_error_status.so", 1, "write.binding");
  EXPECT_EQ(told(o), "FAIL entry_failed candidate") << o.fired.text;
  EXPECT_EQ(o.other.verdict, Verdict::not_applicable);
  EXPECT_NE(o.other.text.find("ended before"), std::string::npos) << o.other.text;
  EXPECT_GE(o.trials, 3);
  EXPECT_LE(o.trials, 12);
}

TEST(SabotagePack, ASilentCandidateFails) {
  const Examined o = examine(kFaulty + "norm_does_nothing.so");
  EXPECT_EQ(told(o), "FAIL never_executed candidate") << o.fired.text;
  EXPECT_GT(count(o, ReceiptKind::fired), 0);
  EXPECT_EQ(count(o, ReceiptKind::completed), 0);
}

TEST(SabotagePack, ACandidateThatLeavesItsDomainToStockFails) {
  const Examined o = examine(kFaulty + "norm_unsupported_in_domain.so");
  EXPECT_EQ(told(o), "FAIL entry_failed candidate") << o.fired.text;
}

TEST(SabotagePack, ACandidateThatIsSilentOnOneRankDecidesNothing) {
  const Examined o = examine(kFaulty + "collective_silent_on_one_rank.so", 2);
  EXPECT_NE(o.fired.verdict, Verdict::pass) << told(o);
  EXPECT_EQ(attribution_of(o.fired.verdict, o.fired.reason) == Attribution::candidate,
            o.fired.verdict == Verdict::fail);
  EXPECT_EQ(count(o, ReceiptKind::replayed), 0);
}
#endif

TEST(SabotagePack, ANeverEligibleCandidateIsNoPass) {
  const Examined o = examine(ASSAY_NEVER_ELIGIBLE);
  EXPECT_EQ(o.fired.judged, 0);
  EXPECT_FALSE(passes_run(o.fired.verdict)) << told(o);
  EXPECT_EQ(count(o, ReceiptKind::fired), 0);
}

// A bench on a copy of the right library, whose file is replaced between two launches.
struct Replaced {
  std::string file = testing::TempDir() + "assay-replaced-" + std::to_string(getpid()) + ".so";
  std::unique_ptr<MemoryDomain> memory = make_host_memory();
  ReferenceModule references{ASSAY_REFERENCES};
  std::vector<std::string> receipts;
  std::unique_ptr<Bench> bench;
  Candidate candidate;
  const CandidateVariant* variant = nullptr;

  Replaced() {
    put(ASSAY_HOST_KERNELS);
    BenchConfig config;
    config.worker.worker = ASSAY_WORKER;
    config.worker.library = file;
    config.on_receipt = [this](const std::string& line) { receipts.push_back(line); };
    candidate = load_candidate(config.worker);
    for (const CandidateVariant& v : candidate.variants)
      if (v.slot->id == "norm.rmsnorm") variant = &v;
    bench = std::make_unique<Bench>(config, *memory, references);
    bench->use(*variant->slot, variant->info);
  }
  ~Replaced() { std::filesystem::remove(file); }
  // A new file under the old name: the old one may still be mapped.
  void put(const std::string& from) const {
    std::filesystem::remove(file);
    std::filesystem::copy_file(from, file);
  }
  Judgement judge_eager(const char* rule) const {
    Trial t;
    t.variant = variant->info.id;
    t.part = {Drive::eager, {pins_of(*variant->slot, DType::f32, Tier::quick, 0).front()}};
    return judge(*find_rule(rule), observe(*bench, t, Tier::quick));
  }
};

TEST(SabotagePack, AnotherFileInALaterLaunchIsNotTheCandidate) {
  Replaced lab;
  EXPECT_EQ(lab.judge_eager("receipt.bound").verdict, Verdict::pass);
  const std::size_t before = lab.receipts.size();
  lab.bench->retire_worker();
  lab.put(ASSAY_HOST_KERNELS);
  std::ofstream(lab.file, std::ios::app | std::ios::binary) << "another build";
  const Judgement j = lab.judge_eager("receipt.bound");
  EXPECT_EQ(j.verdict, Verdict::no_decision) << "nothing of it is the candidate's that was loaded";
  EXPECT_NE(j.text.find("replaced"), std::string::npos) << j.text;
  EXPECT_EQ(lab.judge_eager("receipt.fired").verdict, Verdict::no_decision);
  EXPECT_EQ(lab.receipts.size(), before) << "what was refused is not written";
}

TEST(SabotagePack, ALibraryThatNoLongerLoadsDecidesNothing) {
  Replaced lab;
  EXPECT_EQ(lab.judge_eager("receipt.fired").verdict, Verdict::pass);
  lab.bench->retire_worker();
  std::filesystem::remove(lab.file);
  const Judgement j = lab.judge_eager("receipt.fired");
  EXPECT_EQ(j.verdict, Verdict::no_decision);
  EXPECT_EQ(name_of(attribution_of(j.verdict, j.reason)), "infrastructure") << j.text;
  EXPECT_NE(j.text.find("could not load"), std::string::npos) << j.text;
}

TEST(SabotagePack, TheRightOneHasReceiptsOfEveryKindOnce) {
  WorkerConfig worker;
  worker.worker = ASSAY_WORKER;
  worker.library = ASSAY_HOST_KERNELS;
  const Candidate candidate = load_candidate(worker);
  for (const CandidateVariant& v : candidate.variants) {
    if (v.slot->id != "collective.all_reduce" || v.info.id != "host.group") continue;
    BenchConfig config;
    config.worker = worker;
    std::map<ReceiptKind, int> seen;
    config.on_receipt = [&](const std::string& line) { ++seen[decode(line).kind]; };
    const auto memory = make_host_memory();
    ReferenceModule references(ASSAY_REFERENCES);
    Bench bench(config, *memory, references);
    const OwnedFd file(memfd_create("sabotage", MFD_CLOEXEC));
    ResultWriter writer(file.get());
    ExaminerConfig examine;
    for (const char* id : {"receipt.fired", "receipt.bound"}) examine.rules.push_back(find_rule(id));
    Examiner examiner(examine, bench, writer);
    for (const RuleSpec* rule : examine.rules) {
      const RuleRecord record = examiner.examine({&v, DType::f32, 4}, *rule);
      EXPECT_EQ(record.verdict, Verdict::pass) << rule->id << ": " << record.text;
      EXPECT_GT(record.evidence, 0);
    }
    EXPECT_EQ(seen[ReceiptKind::active], 4);
    EXPECT_EQ(seen[ReceiptKind::fired], 4) << "once a rank, however many calls";
    EXPECT_EQ(seen[ReceiptKind::completed], 8) << "eager and captured";
    EXPECT_EQ(seen[ReceiptKind::replayed], 4);
    EXPECT_EQ(bench.workers_started(), 4u);
    return;
  }
  FAIL() << "the host library has no all-reduce";
}

}  // namespace
}  // namespace assay
