#include "harness/rank/rank_set.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <future>
#include <numeric>
#include <tuple>

#include "harness/device/cuda/cuda_device.hpp"
#include "harness/device/memory.hpp"
#include "harness/rank/placing.hpp"
#include "harness/tensor/philox.hpp"

namespace assay {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kJoinMs = 10000, kInitMs = 30000;
constexpr int kControlDeadlineMs = 15000;  // beyond what the control itself waits for
constexpr int kNcclJoinMs = 60000;  // NCCL loads its kernels and finds its peers
constexpr int kMomentMs = 10;       // for peers to come back from an aborted wait, before they are ended

std::uint64_t fresh_id() {
  static std::atomic<std::uint64_t> groups{0};
  return derive_key(static_cast<std::uint64_t>(::getpid()), "group", ++groups) | 1;
}

// Who is asked first where a deadline has passed: candidate code, then trusted code that is stuck, then who only waits.
int suspicion(Phase phase) {
  switch (phase) {
    case Phase::entry:
    case Phase::init:
    case Phase::prepare:
    case Phase::release:
    case Phase::destroy:
    case Phase::workspace:
      return 0;
    case Phase::host_kernel:
      return 1;
    case Phase::waiting:
    case Phase::peers:
      return 3;
    default:
      return 2;
  }
}

// The first step of a run that was not ok and is no consequence of another rank's end.
bool has_failed_step(WorkerSession& rank) {
  const Program& p = rank.program();
  for (std::uint32_t i = 0; i < p.step_count && i < kMaxSteps; ++i)
    if (p.results[i].code != StepCode::ok) return p.results[i].code != StepCode::peer_gone;
  return false;
}

std::optional<Fault> named(std::optional<Fault> fault) {
  if (fault && fault->rank >= 0) fault->text = "rank " + std::to_string(fault->rank) + ": " + fault->text;
  return fault;
}

}  // namespace

RankSet::RankSet(const WorkerConfig& config, int world, bool grouped) : device_(config.device), grouped_(grouped) {
  if (device_ == DeviceType::host || !grouped) {
    for (int r = 0; r < world; ++r) ranks_.push_back(std::make_unique<WorkerSession>(config));
    return;
  }
  const std::string name = "assay-" + std::to_string(::getpid()) + "-" + std::to_string(fresh_id());
  for (RankPlace& place : place_ranks(world, count_cuda_devices(), config.ordinal, name)) {
    WorkerConfig ranks = config;
    ranks.ordinal = place.ordinal;
    ranks.environment.insert(ranks.environment.end(), place.environment.begin(), place.environment.end());
    ranks_.push_back(std::make_unique<WorkerSession>(std::move(ranks)));
  }
}

RankSet::~RankSet() = default;

bool RankSet::alive() const noexcept {
  return !aborted_ && std::all_of(ranks_.begin(), ranks_.end(), [](const auto& r) { return r->alive(); });
}

void RankSet::raise_abort() {
  aborted_ = true;
  for (const auto& segment : segments_) segment->abort();
}

// Waits for the answers of all ranks but those that are done. `refused`: whether a rank's answer ends the others'.
template <class Refused>
RankSet::Run RankSet::together(std::vector<bool> done, int timeout_ms, Refused&& refused) {
  Run outcome;
  const auto found = [&] { return outcome.fault || outcome.failed >= 0; };
  auto until = Clock::now() + std::chrono::milliseconds(timeout_ms);
  std::vector<pollfd> waits;
  while (std::find(done.begin(), done.end(), false) != done.end()) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
    if (left <= 0) break;
    waits.clear();
    for (std::size_t r = 0; r < ranks_.size(); ++r)
      if (!done[r]) ranks_[r]->descriptors(waits);
    poll(waits.data(), waits.size(), static_cast<int>(std::min<long long>(left, 1000)));
    std::optional<Fault> death;  // of this round; one in candidate code is the cause of another's
    int failed = -1;
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      if (done[r]) continue;
      const WorkerSession::Heard heard = ranks_[r]->hear();
      done[r] = heard != WorkerSession::Heard::nothing;
      if (heard == WorkerSession::Heard::answer && failed < 0 && refused(*ranks_[r])) failed = static_cast<int>(r);
      if (heard != WorkerSession::Heard::ended) continue;
      Fault fault = ranks_[r]->bury(true);
      fault.rank = static_cast<int>(r);
      if (!death || (death->verdict != Verdict::fail && fault.verdict == Verdict::fail)) death = std::move(fault);
    }
    if (found() || (!death && failed < 0)) continue;
    if (death && (failed < 0 || death->verdict == Verdict::fail))
      outcome.fault = std::move(death);
    else
      outcome.failed = failed;
    raise_abort();
    until = Clock::now() + std::chrono::milliseconds(kMomentMs);
  }
  if (!found() && std::find(done.begin(), done.end(), false) != done.end()) outcome = past_deadline(done);
  for (std::size_t r = 0; r < ranks_.size(); ++r)
    if (!done[r] && ranks_[r]->alive()) static_cast<void>(ranks_[r]->bury(false));
  return outcome;
}

// Black boxes outlive their workers, but are read while all still stand where the deadline found them.
RankSet::Run RankSet::past_deadline(const std::vector<bool>& done) {
  std::vector<BoxReading> boxes;
  for (const auto& rank : ranks_) boxes.push_back(rank->box());
  raise_abort();
  std::size_t culprit = ranks_.size();
  std::string others;
  const auto key = [&](std::size_t r) { return std::tuple(suspicion(boxes[r].phase), boxes[r].step, r); };
  for (std::size_t r = 0; r < ranks_.size(); ++r)
    if (!done[r] && (culprit == ranks_.size() || key(r) < key(culprit))) culprit = r;
  for (std::size_t r = 0; r < ranks_.size(); ++r)
    if (r != culprit)
      others += "; rank " + std::to_string(r) + ": " + (done[r] ? "finished" : std::string(name_of(boxes[r].phase)));
  Ending ending;
  ending.deadline = true;
  static_cast<void>(ranks_[culprit]->bury(false));
  Run outcome;
  outcome.fault = blame(boxes[culprit], ending);
  outcome.fault->rank = static_cast<int>(culprit);
  outcome.fault->text += others;
  return outcome;
}

void RankSet::take_receipts() {
  for (std::size_t r = 0; r < ranks_.size(); ++r)
    for (const std::string& line : ranks_[r]->take_receipts())
      if (ledger_) ledger_->take(static_cast<int>(r), ranks_[r]->pid(), line);
}

std::optional<Fault> RankSet::open(ReceiptLedger* ledger, const std::function<void()>& before_control) {
  ledger_ = ledger;
  const auto open_one = [&](int rank) {
    std::optional<Fault> fault = (*this)[rank].open_device();
    return fault ? fault : (*this)[rank].load(ledger_ ? std::optional(ledger_->ticket(rank)) : std::nullopt);
  };
  std::optional<Fault> fault;
  std::vector<std::future<std::optional<Fault>>> opening;  // a GPU's context takes a third of a second
  for (int r = 0; r < world(); ++r)
    opening.push_back(
        std::async(device_ == DeviceType::host ? std::launch::deferred : std::launch::async, open_one, r));
  try {
    for (auto& opened : opening)
      if (!fault) fault = opened.get();
  } catch (const LibraryRefused&) {
    opening.clear();  // waits for those that are under way
    take_receipts();  // a rank that did not load says so
    throw;
  }
  take_receipts();
  if (fault || !grouped_) return fault;
  connect(kWorldGroup, all());
  if (before_control) before_control();
  control(kWorldGroup, all());
  return std::nullopt;
}

std::vector<int> RankSet::all() const {
  std::vector<int> ranks(ranks_.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

void RankSet::join(std::uint32_t group, const std::vector<int>& members) {
  connect(group, members);
  control(group, members);
}

// Where joining did not include it.
void RankSet::control(std::uint32_t group, const std::vector<int>& members) {
  if (device_ == DeviceType::host) return;
  for (int r = 0; r < world(); ++r) {
    Program& p = (*this)[r].program();
    p.step_count = std::count(members.begin(), members.end(), r) ? 1 : 0;
    p.tensor_count = p.done = 0;
    p.steps[0] = ProgramStep{};
    p.steps[0].op = Op::meet;
    p.steps[0].a = group;
    p.results[0] = ProgramResult{};
  }
  const Run outcome = run(kControlDeadlineMs);
  if (outcome.fault) throw DeviceError("the group's control collective did not finish: " + outcome.fault->text);
  int red = outcome.failed;
  for (const int r : members)
    if (red < 0 && (*this)[r].program().results[0].code != StepCode::ok) red = r;
  if (red < 0) return;
  const auto& text = (*this)[red].program().results[0].text;
  throw DeviceError("the group's control collective, rank " + std::to_string(red) + ": " +
                    std::string(text, strnlen(text, sizeof text)));
}

void RankSet::connect(std::uint32_t group, const std::vector<int>& members) {
  const std::uint64_t id = fresh_id();
  const int size = static_cast<int>(members.size());
  segments_.push_back(std::make_unique<Segment>(size));
  std::optional<Post> post;  // until all have joined, with sockets of their own
  if (device_ != DeviceType::host) post.emplace(size);
  std::vector<bool> done(ranks_.size(), true);
  for (int place = 0; place < size; ++place) {
    const auto rank = static_cast<std::size_t>(members[static_cast<std::size_t>(place)]);
    std::vector<int> descriptors{segments_.back()->descriptor()};
    if (post)
      for (const int socket : post->descriptors(place)) descriptors.push_back(socket);
    ranks_[rank]->ask_join(group, id, place, size, std::move(descriptors));
    done[rank] = false;
  }
  std::string why;
  const Run outcome = together(std::move(done), post ? kNcclJoinMs : kJoinMs, [&](WorkerSession& rank) {
    if (why.empty()) why = rank.refusal();
    return !rank.refusal().empty();
  });
  if (outcome.fault) throw DeviceError("the group's control collective did not finish: " + outcome.fault->text);
  if (outcome.failed >= 0)
    throw DeviceError("rank " + std::to_string(outcome.failed) + " cannot join its group: " + why);
}

std::optional<Fault> RankSet::map(std::uint32_t arena, const std::vector<const Arena*>& of_ranks, Access access,
                                  WorkerSession::Use use) {
  for (std::size_t r = 0; r < ranks_.size(); ++r)
    if (auto fault = ranks_[r]->map(arena, *of_ranks[r], access, use)) return fault;
  return std::nullopt;
}

std::optional<Fault> RankSet::init(std::uint32_t variant) {
  if (world() == 1) return ranks_.front()->init(variant, grouped_ ? kWorldGroup : 0);
  return init(variant, kWorldGroup, all());
}

std::optional<Fault> RankSet::init(std::uint32_t variant, std::uint32_t group, const std::vector<int>& members) {
  std::vector<bool> done(ranks_.size(), true);
  for (const int rank : members) {
    (*this)[rank].ask_init(variant, group);
    done[static_cast<std::size_t>(rank)] = false;
  }
  Run outcome =
      together(std::move(done), kInitMs, [](WorkerSession& rank) { return !rank.refusal().empty(); });
  if (outcome.failed < 0) return named(std::move(outcome.fault));
  Fault refused = (*this)[outcome.failed].refused_init();
  refused.rank = outcome.failed;
  return named(std::move(refused));
}

RankSet::Run RankSet::run(int deadline_ms, const std::string& named_calls) {
  if (world() == 1) {
    Run outcome{ranks_.front()->run(deadline_ms, named_calls)};
    take_receipts();
    return outcome;
  }
  for (const auto& rank : ranks_) rank->ask_run(named_calls);
  Run outcome = together(std::vector<bool>(ranks_.size(), false), deadline_ms,
                         [](WorkerSession& rank) { return !rank.refusal().empty() || has_failed_step(rank); });
  take_receipts();
  if (outcome.failed >= 0)
    if (auto disobeyed = (*this)[outcome.failed].disobeyed()) {
      disobeyed->rank = outcome.failed;
      outcome.fault = std::move(disobeyed);
    }
  for (std::size_t r = 0; !outcome.fault && r < ranks_.size(); ++r)
    if (ranks_[r]->alive())
      if (auto left = ranks_[r]->left_behind()) {
        left->rank = static_cast<int>(r);
        outcome.fault = std::move(left);
      }
  outcome.fault = named(std::move(outcome.fault));
  return outcome;
}

std::string RankSet::output() const {
  std::string text;
  for (const auto& rank : ranks_) text += rank->output();
  return text;
}

}  // namespace assay
