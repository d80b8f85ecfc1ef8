#include "harness/worker/segment_group.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "harness/device/memory.hpp"

namespace assay {
namespace {

const char* name_of(std::uint32_t kind) {
  constexpr const char* names[] = {"nothing", "the control", "exchange", "symmetric", "all_reduce_sum", "all_gather"};
  return kind < std::size(names) ? names[kind] : "garbage";
}

struct Table {
  std::mutex mutex;
  std::map<std::uint64_t, SegmentGroup*> groups;
};
Table& table() {
  static auto* const the = new Table;  // a candidate's static destructors may still call in
  return *the;
}

}  // namespace

SegmentGroup::SegmentGroup(const Membership& who, int segment, BlackBox& box, const assay_group_api& api)
    : segment_(who.world, segment), box_(box) {
  handle_.size = sizeof handle_;
  handle_.rank = who.rank;
  handle_.world_size = who.world;
  handle_.id = who.id;
  handle_.api = &api;
  const std::lock_guard lock(table().mutex);
  if (!table().groups.emplace(who.id, this).second) throw DeviceError("two groups have one id");
}

SegmentGroup::~SegmentGroup() {
  const std::lock_guard lock(table().mutex);
  table().groups.erase(handle_.id);
}

SegmentGroup* SegmentGroup::find(const assay_group* handle) {
  if (!handle) return nullptr;
  const std::lock_guard lock(table().mutex);
  const auto at = table().groups.find(handle->id);
  return at == table().groups.end() ? nullptr : at->second;
}

Outcome SegmentGroup::control() {
  std::vector<std::uint64_t> all(static_cast<std::size_t>(world()));
  const auto word = [&](int rank) { return handle_.id * 1000003u + static_cast<std::uint64_t>(rank) + meetings_; };
  const std::vector<std::uint64_t> expected = [&] {
    std::vector<std::uint64_t> list;
    for (int r = 0; r < world(); ++r) list.push_back(word(r));
    return list;
  }();
  const std::uint64_t mine = expected[static_cast<std::size_t>(rank())];
  if (const Outcome o = gather_bytes(Kind::control, &mine, all.data(), sizeof mine); !o.ok()) return o;
  if (all != expected) return {StepCode::infrastructure, "the group's control collective came back wrong"};
  return {};
}

Outcome SegmentGroup::take_failure() {
  const std::lock_guard lock(mutex_);
  return std::exchange(failure_, {});
}

void SegmentGroup::note(const Outcome& outcome) {
  const std::lock_guard lock(mutex_);
  if (failure_.ok()) failure_ = outcome;
}

Outcome SegmentGroup::arrive(std::uint64_t now, const Announcement& said) {
  segment_.announcement(now, rank()) = said;
  if (!segment_.meet()) return {StepCode::peer_gone, "a peer is gone"};
  for (int r = 0; r < world(); ++r) {
    const Announcement other = segment_.announcement(now, r);
    if (other == said) continue;
    const auto told = [](const Announcement& a) {
      return std::string(name_of(a.kind)) + " of " + std::to_string(a.count);
    };
    return {StepCode::launch_invalid, "ranks called different collectives: rank " + std::to_string(rank()) + " " +
                                          told(said) + ", rank " + std::to_string(r) + " " + told(other)};
  }
  return {};
}

Outcome SegmentGroup::gather_bytes(Kind kind, const void* mine, void* all, std::size_t bytes) {
  const auto* from = static_cast<const std::byte*>(mine);
  auto* to = static_cast<std::byte*>(all);
  std::size_t done = 0;
  do {
    const std::size_t part = std::min<std::size_t>(bytes - done, kMailboxBytes);
    if (part) std::memcpy(segment_.mailbox(meetings_, rank()), from + done, part);
    const Outcome o = meet({static_cast<std::uint32_t>(kind), 0, bytes}, [&](std::uint64_t now) {
      for (int r = 0; part && r < world(); ++r)
        std::memcpy(to + static_cast<std::size_t>(r) * bytes + done, segment_.mailbox(now, r), part);
    });
    if (!o.ok()) return o;
    done += part;
  } while (done < bytes);
  return {};
}

assay_status SegmentGroup::exchange(const assay_group* handle, const void* mine, void* all, std::size_t bytes) {
  return guarded(handle, [&](SegmentGroup& g) {
    if (!g.may_exchange() || (bytes && (!mine || !all))) return false;
    Outcome o;
    g.as_waiting([&] { o = g.gather_bytes(Kind::exchange, mine, all, bytes); });
    if (!o.ok()) g.note(o);
    return o.ok();
  });
}

}  // namespace assay
