// Groups of ranks on a real device: symmetric memory of a MemoryDomain, whose descriptors travel from peer to peer, and
// a communicator of the candidate's NCCL where it has one. all_reduce_sum and all_gather are the host model's.
#include <string>
#include <utility>
#include <vector>

#include "harness/rank/post.hpp"
#include "harness/worker/segment_group.hpp"

namespace assay {
namespace {

class DeviceGroup final : public SegmentGroup {
 public:
  DeviceGroup(const Membership& who, int segment, const std::vector<int>& sockets, BlackBox& box,
              std::unique_ptr<MemoryDomain> memory, std::unique_ptr<Communicator> communicator)
      : SegmentGroup(who, segment, box, table()),
        post_(who.rank, sockets),
        memory_(std::move(memory)),
        communicator_(std::move(communicator)) {
    if (communicator_) connect();
  }

  // Over the segment first: NCCL's kernels wait for ever for a member that is not there.
  Outcome control() override {
    if (Outcome o = SegmentGroup::control(); !o.ok() || !communicator_) return o;
    const auto word = [&](int rank) { return handle_.id * 8191u + static_cast<std::uint64_t>(rank) + meetings_; };
    std::uint64_t expected = 0, sum = 0;
    for (int r = 0; r < world(); ++r) expected += word(r);
    if (Outcome o = communicator_->add_up(word(rank()), sum, [this] { return segment_.aborted(); }); !o.ok()) return o;
    if (sum != expected) return {StepCode::infrastructure, "NCCL's control collective came back wrong"};
    return {};
  }

  Outcome take_failure() override {
    if (Outcome o = SegmentGroup::take_failure(); !o.ok()) return o;
    return communicator_ ? communicator_->failure() : Outcome{};
  }

 private:
  static const assay_group_api& table() {
    static const assay_group_api api = {sizeof(assay_group_api), &DeviceGroup::exchange, &DeviceGroup::symmetric,
                                        nullptr, nullptr};
    return api;
  }

  struct Opening {
    NcclUniqueId id{};
    char why[120] = {};  // empty: the id is good
  };

  void connect() {
    Opening mine;
    const auto say = [&mine](const std::string& why) { why.copy(mine.why, sizeof mine.why - 1); };
    if (rank() == 0) say(communicator_->make_id(mine.id));
    const Opening first = gathered(mine).front();
    if (first.why[0]) throw DeviceError("NCCL makes no group: " + std::string(first.why));
    say(communicator_->connect(first.id, rank(), world()));
    const std::vector<Opening> all = gathered(mine);
    for (std::size_t r = 0; r < all.size(); ++r)
      if (all[r].why[0])
        throw DeviceError("rank " + std::to_string(r) + " cannot join NCCL's communicator: " + all[r].why);
    handle_.nccl = communicator_->handle();
  }

  std::vector<Opening> gathered(const Opening& mine) {
    std::vector<Opening> all(static_cast<std::size_t>(world()));
    if (const Outcome o = gather_bytes(Kind::control, &mine, all.data(), sizeof mine); !o.ok())
      throw DeviceError(o.text);
    for (Opening& o : all) o.why[sizeof o.why - 1] = '\0';
    return all;
  }

  // Every member's block, mapped here. Memory that cannot be had or mapped is never the candidate's failure.
  bool share(std::size_t bytes, void** peers) {
    const Announcement said{static_cast<std::uint32_t>(Kind::symmetric), 0, bytes};
    const auto met = [&] {
      const Outcome o = meet(said);
      if (!o.ok()) note(o);
      return o.ok();
    };
    try {
      const std::uint64_t unit = memory_->granularity();
      const std::uint64_t span = std::max<std::uint64_t>(1, (bytes + unit - 1) / unit) * unit;
      if (span < bytes) return false;
      const ArenaPlan plan{span, {{0, span}}};
      std::unique_ptr<Arena> own = memory_->create(plan);
      for (int r = 0; r < world(); ++r)
        if (r != rank()) post_.send(r, own->descriptors().front());
      if (!met()) return false;  // all have sent
      for (int i = 1; i < world(); ++i) {
        const PostBox::Letter letter = post_.receive();
        if (letter.from < 0 || letter.from >= world()) throw DeviceError("a peer's memory came without its rank");
        shared_.push_back(memory_->map(plan, {letter.descriptor.get()}, Access::read_write));
        peers[letter.from] = shared_.back()->base();
      }
      peers[rank()] = own->base();
      shared_.push_back(std::move(own));
      return met();  // all have taken what was theirs, and may send again
    } catch (const DeviceError& error) {
      note({StepCode::infrastructure, std::string("symmetric memory: ") + error.what()});
      return false;
    }
  }

  static assay_status symmetric(const assay_group* handle, std::size_t bytes, void** peers) {
    return guarded(handle, [&](SegmentGroup& group) {
      auto* g = dynamic_cast<DeviceGroup*>(&group);
      if (!g || !g->may_exchange() || !peers) return false;
      bool shared = false;
      g->as_waiting([&] { shared = g->share(bytes, peers); });
      return shared;
    });
  }

  PostBox post_;
  std::unique_ptr<MemoryDomain> memory_;
  std::vector<std::unique_ptr<ArenaMapping>> shared_;  // symmetric memory, own and peers'
  std::unique_ptr<Communicator> communicator_;
};

}  // namespace

std::unique_ptr<Group> make_device_group(const Membership& who, int segment, const std::vector<int>& sockets,
                                         BlackBox& box, std::unique_ptr<MemoryDomain> memory,
                                         std::unique_ptr<Communicator> communicator) {
  return std::make_unique<DeviceGroup>(who, segment, sockets, box, std::move(memory), std::move(communicator));
}

}  // namespace assay
