// Groups of a device with the host's memory for the device's: members in processes of their own, as ranks are.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "harness/rank/post.hpp"
#include "harness/rank/segment.hpp"
#include "harness/worker/group.hpp"

namespace assay {
namespace {

// A stand-in for NCCL, in memory that all members share.
struct Wire {
  int world = 1;
  int refuses = -1;  // the rank whose connect fails
  int spoils = -1;   // the rank that adds up wrong
  bool id_fails = false;
  std::atomic<std::uint64_t> sum{0};
  std::atomic<int> arrivals{0};

  void meet() {
    const int mine = arrivals.fetch_add(1);
    while (arrivals.load() < (mine / world + 1) * world) usleep(50);
  }
};

class WiredCommunicator final : public Communicator {
 public:
  explicit WiredCommunicator(Wire& wire) : wire_(wire) {}
  [[nodiscard]] ncclComm* handle() const noexcept override { return reinterpret_cast<ncclComm*>(0x42); }
  std::string make_id(NcclUniqueId& id) override {
    id.bytes[7] = 7;
    return wire_.id_fails ? "no socket" : "";
  }
  std::string connect(const NcclUniqueId& id, int rank, int) override {
    rank_ = rank;
    if (id.bytes[7] != 7) return "another id than rank 0's";
    return rank == wire_.refuses ? "no such peer" : "";
  }
  Outcome add_up(std::uint64_t mine, std::uint64_t& sum, const std::function<bool()>&) override {
    wire_.sum += mine + (rank_ == wire_.spoils ? 1 : 0);
    wire_.meet();
    sum = wire_.sum;
    wire_.meet();
    if (rank_ == 0) wire_.sum = 0;
    wire_.meet();
    return {};
  }
  Outcome failure() override { return rank_ == 1 ? Outcome{StepCode::peer_gone, "noticed"} : Outcome{}; }

 private:
  Wire& wire_;
  int rank_ = -1;
};

// What a member says when it is done; empty: all as it should be.
using Body = std::function<std::string(int rank, Group& group, Segment& segment)>;

std::vector<std::string> run_members(int world, Wire* wire, const Body& body) {
  constexpr std::size_t kSaid = 256;
  void* const shared = mmap(nullptr, kSaid * 16, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto* const said = static_cast<char*>(shared);
  Segment segment(world);
  const Post post(world);
  std::vector<pid_t> pids;
  for (int r = 0; r < world; ++r) {
    const pid_t pid = fork();
    if (pid == 0) {
      std::string text;
      try {
        BlackBox box;
        std::unique_ptr<Communicator> communicator;
        if (wire) communicator = std::make_unique<WiredCommunicator>(*wire);
        const auto group = make_device_group({12345, r, world}, segment.descriptor(), post.descriptors(r), box,
                                             make_host_memory(), std::move(communicator));
        text = body(r, *group, segment);
      } catch (const DeviceError& error) {
        text = std::string("refused: ") + error.what();
      }
      text.copy(said + static_cast<std::size_t>(r) * kSaid, kSaid - 1);
      _exit(0);
    }
    pids.push_back(pid);
  }
  std::vector<std::string> list;
  for (int r = 0; r < world; ++r) {
    int status = 0;
    waitpid(pids[static_cast<std::size_t>(r)], &status, 0);
    list.emplace_back(status == 0 ? said + static_cast<std::size_t>(r) * kSaid : "died");
  }
  munmap(shared, kSaid * 16);
  return list;
}

class DeviceGroup : public testing::Test {
 protected:
  DeviceGroup() {
    void* const memory = mmap(nullptr, sizeof(Wire), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    wire_ = new (memory) Wire;
  }
  ~DeviceGroup() override { munmap(wire_, sizeof(Wire)); }
  Wire& wire(int world) {
    wire_->world = world;
    wire_->arrivals = 0;
    return *wire_;
  }

 private:
  Wire* wire_;
};

const std::string kRight;

TEST_F(DeviceGroup, SymmetricMemoryIsEveryPeersZeroedAndItsOwn) {
  for (const int world : {1, 2, 4, 8}) {
    const auto said = run_members(world, nullptr, [world](int rank, Group& group, Segment&) -> std::string {
      const assay_group* g = group.handle();
      if (g->nccl || g->api->all_reduce_sum || g->api->all_gather) return "more than a device's group has";
      group.allow_exchange(true);
      for (const std::size_t bytes : {std::size_t{100}, std::size_t{1} << 20, std::size_t{0}}) {
        std::vector<void*> peers(static_cast<std::size_t>(world));
        if (g->api->symmetric(g, bytes, peers.data()) != ASSAY_OK) return "symmetric failed";
        const auto word = [&](int peer, int i) -> int& {
          return static_cast<int*>(peers[static_cast<std::size_t>(peer)])[i];
        };
        for (int p = 0; p < world; ++p)
          if (word(p, rank) != 0) return "not zeroed";
        if (g->api->exchange(g, nullptr, nullptr, 0) != ASSAY_OK) return "exchange failed";
        for (int p = 0; bytes && p < world; ++p) word(p, rank) = 1000 * rank + p + 1;
        if (g->api->exchange(g, nullptr, nullptr, 0) != ASSAY_OK) return "exchange failed";
        for (int p = 0; bytes && p < world; ++p)
          if (word(rank, p) != 1000 * p + rank + 1) return "another peer's memory, or another place in it";
      }
      group.allow_exchange(false);
      void* peers[8];
      return g->api->symmetric(g, 100, peers) == ASSAY_OK ? "symmetric outside init" : "";
    });
    EXPECT_EQ(said, std::vector<std::string>(static_cast<std::size_t>(world), kRight)) << world;
  }
}

TEST_F(DeviceGroup, ExchangeGivesEveryRankAllPartsInRankOrder) {
  const auto said = run_members(3, nullptr, [](int rank, Group& group, Segment&) -> std::string {
    group.allow_exchange(true);
    const assay_group* g = group.handle();
    const int mine[2] = {rank, 10 * rank};
    int all[6] = {};
    if (g->api->exchange(g, mine, all, sizeof mine) != ASSAY_OK) return "exchange failed";
    for (int r = 0; r < 3; ++r)
      if (all[2 * r] != r || all[2 * r + 1] != 10 * r) return "not in rank order";
    return "";
  });
  EXPECT_EQ(said, std::vector<std::string>(3, kRight));
}

TEST_F(DeviceGroup, MembersThatAskForDifferentSizesAreAllTold) {
  const auto said = run_members(2, nullptr, [](int rank, Group& group, Segment&) -> std::string {
    group.allow_exchange(true);
    void* peers[2];
    const bool refused = group.handle()->api->symmetric(group.handle(), rank ? 100 : 200, peers) != ASSAY_OK;
    const Outcome failure = group.take_failure();
    return refused && failure.code == StepCode::launch_invalid ? "" : "not told: " + failure.text;
  });
  EXPECT_EQ(said, std::vector<std::string>(2, kRight));
}

TEST_F(DeviceGroup, AMemberThatNeverComesIsAPeerThatIsGone) {
  const auto said = run_members(2, nullptr, [](int rank, Group& group, Segment& segment) -> std::string {
    group.allow_exchange(true);
    if (rank == 1) {
      usleep(20'000);
      segment.abort();
      return "";
    }
    void* peers[2];
    const bool refused = group.handle()->api->symmetric(group.handle(), 100, peers) != ASSAY_OK;
    return refused && group.take_failure().code == StepCode::peer_gone ? "" : "not told";
  });
  EXPECT_EQ(said, std::vector<std::string>(2, kRight));
}

TEST_F(DeviceGroup, TheControlGoesOverTheCommunicatorToo) {
  const auto control = [](int, Group& group, Segment&) -> std::string {
    if (!group.handle()->nccl) return "no communicator";
    for (int again = 0; again < 3; ++again)
      if (const Outcome o = group.control(); !o.ok()) return o.text;
    return "";
  };
  EXPECT_EQ(run_members(3, &wire(3), control), std::vector<std::string>(3, kRight));
  wire(2).spoils = 1;
  for (const std::string& text : run_members(2, &wire(2), control))
    EXPECT_EQ(text, "NCCL's control collective came back wrong");
}

TEST_F(DeviceGroup, WhatNcclNoticesIsToldInTheStepInWhichItComesUp) {
  const auto said = run_members(2, &wire(2), [](int rank, Group& group, Segment&) -> std::string {
    return group.take_failure().code == (rank == 1 ? StepCode::peer_gone : StepCode::ok) ? "" : "another failure";
  });
  EXPECT_EQ(said, std::vector<std::string>(2, kRight));
}

TEST_F(DeviceGroup, ARankThatCannotJoinIsNamedOnAll) {
  wire(3).refuses = 2;
  for (const std::string& text : run_members(3, &wire(3), [](int, Group&, Segment&) { return std::string("joined"); }))
    EXPECT_EQ(text, "refused: rank 2 cannot join NCCL's communicator: no such peer");
  wire(3).id_fails = true;
  for (const std::string& text : run_members(3, &wire(3), [](int, Group&, Segment&) { return std::string("joined"); }))
    EXPECT_EQ(text, "refused: NCCL makes no group: no socket");
}

}  // namespace
}  // namespace assay
