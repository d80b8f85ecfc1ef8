// segment_group.hpp: what groups of every device have in common: members meet in a judge's Segment, gather bytes there,
// and answer a candidate's exchange.
//
// Promises: a group's handle finds its group by id while it lives, from any thread. What a member waits in says so in
// the black box. Members that call different collectives, or with different sizes, are all told so.
// Who calls it: host_group.cc, device_group.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>

#include "harness/rank/segment.hpp"
#include "harness/worker/group.hpp"

namespace assay {

class SegmentGroup : public Group {
 public:
  enum class Kind : std::uint32_t { control = 1, exchange, symmetric, all_reduce_sum, all_gather };

  SegmentGroup(const Membership&, int segment, BlackBox&, const assay_group_api&);
  ~SegmentGroup() override;

  [[nodiscard]] const assay_group* handle() const noexcept override { return &handle_; }
  void allow_exchange(bool allowed) override { may_exchange_ = allowed; }
  [[nodiscard]] Outcome control() override;
  [[nodiscard]] Outcome take_failure() override;

 protected:
  // assay_group_api::exchange of every device.
  static assay_status exchange(const assay_group*, const void* mine, void* all, std::size_t bytes);
  // Runs work(SegmentGroup&), which says whether it went well, for the group that the candidate names.
  template <class Work>
  static assay_status guarded(const assay_group* handle, Work&& work) noexcept {
    SegmentGroup* group = find(handle);
    if (!group) return ASSAY_ERROR;
    try {
      return work(*group) ? ASSAY_OK : ASSAY_ERROR;
    } catch (const std::exception&) {
      return ASSAY_ERROR;
    }
  }

  // What runs inside this is ours, and waits for peers: the black box says so.
  template <class Body>
  void as_waiting(Body&& body) {
    const std::uint32_t before = box_.phase;
    box_.phase = static_cast<std::uint32_t>(Phase::peers);
    body();
    box_.phase = before;
  }
  // One meeting, after which `read(meeting)` sees the mailboxes of all.
  template <class Read>
  Outcome meet(const Announcement& said, Read&& read) {
    const std::uint64_t now = meetings_++;
    const Outcome met = arrive(now, said);
    if (met.ok()) read(now);
    return met;
  }
  Outcome meet(const Announcement& said) { return arrive(meetings_++, said); }
  Outcome gather_bytes(Kind, const void* mine, void* all, std::size_t bytes);
  void note(const Outcome&);  // for the step in which it came up

  [[nodiscard]] int rank() const noexcept { return handle_.rank; }
  [[nodiscard]] int world() const noexcept { return handle_.world_size; }
  [[nodiscard]] bool may_exchange() const noexcept { return may_exchange_; }

  Segment segment_;
  assay_group handle_{};
  std::uint64_t meetings_ = 0;  // so far; the candidate thread's only

 private:
  static SegmentGroup* find(const assay_group*);
  Outcome arrive(std::uint64_t now, const Announcement& said);

  BlackBox& box_;
  bool may_exchange_ = false;
  std::mutex mutex_;
  Outcome failure_;
};

}  // namespace assay
