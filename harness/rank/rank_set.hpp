// rank_set.hpp: the workers of one trial, one a rank, as one thing: started, joined to their groups, run and ended
// together.
//
// Promises: commands reach all ranks before any answer is waited for. The first rank that dies, or whose step fails,
// ends the run on all: the groups' abort word is raised, peers have a moment to come back, then they are ended, and
// what they did meanwhile is nobody's fault. Past the deadline the black boxes of all ranks say whose it is. A Fault
// names its rank where there are several. A set of one without a group is a plain session, at no further cost.
// Does not: start a set again; a set that is not alive() is thrown away with all its workers.
// Who calls it: harness/drive/bench_run.cc.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/rank/post.hpp"
#include "harness/rank/segment.hpp"
#include "harness/receipt/ledger.hpp"
#include "harness/worker/session.hpp"

namespace assay {

inline constexpr std::uint32_t kWorldGroup = 1;  // of all ranks, in their order

class RankSet {
 public:
  RankSet(const WorkerConfig&, int world, bool grouped);  // starts the workers; grouped: they join the world's group
  ~RankSet();
  RankSet(const RankSet&) = delete;
  RankSet& operator=(const RankSet&) = delete;

  [[nodiscard]] int world() const noexcept { return static_cast<int>(ranks_.size()); }
  [[nodiscard]] bool grouped() const noexcept { return grouped_; }
  [[nodiscard]] bool alive() const noexcept;
  [[nodiscard]] WorkerSession& operator[](int rank) noexcept { return *ranks_[static_cast<std::size_t>(rank)]; }

  // Device, library and the world's group. Throws DeviceError where the group's control collective is red. The ledger,
  // if any, takes the receipts of these workers from now on and outlives them.
  [[nodiscard]] std::optional<Fault> open(ReceiptLedger* ledger = nullptr,
                                          const std::function<void()>& before_control = {});
  [[nodiscard]] std::optional<Fault> map(std::uint32_t arena, const std::vector<const Arena*>& of_ranks, Access,
                                         WorkerSession::Use);
  // A group of some ranks, in this order: their number in it is their place. Throws DeviceError like open().
  void join(std::uint32_t group, const std::vector<int>& members);
  [[nodiscard]] std::optional<Fault> init(std::uint32_t variant);
  [[nodiscard]] std::optional<Fault> init(std::uint32_t variant, std::uint32_t group, const std::vector<int>& members);

  struct Run {
    std::optional<Fault> fault;
    int failed = -1;  // the rank whose step was the first not to be ok
  };
  // Each rank's program(). `named`: as in WorkerSession::run.
  [[nodiscard]] Run run(int deadline_ms, const std::string& named = {});

  [[nodiscard]] std::string output() const;

 private:
  void connect(std::uint32_t group, const std::vector<int>& members);
  void control(std::uint32_t group, const std::vector<int>& members);
  template <class Refused>
  Run together(std::vector<bool> done, int timeout_ms, Refused&& refused);
  [[nodiscard]] std::vector<int> all() const;
  Run past_deadline(const std::vector<bool>& done);
  void take_receipts();
  void raise_abort();

  std::vector<std::unique_ptr<WorkerSession>> ranks_;
  std::vector<std::unique_ptr<Segment>> segments_;  // of the groups, in the order of joining
  DeviceType device_;
  ReceiptLedger* ledger_ = nullptr;
  bool grouped_, aborted_ = false;
};

}  // namespace assay
