// group.hpp: one rank's membership of a group: what assay_call::group points to, and the trusted collective that says
// whether the group works at all.
//
// Promises: the functions behind assay_group::api as abi.h describes them; exchange and symmetric answer inside init
// only. A wait ends within a millisecond of the group's abort word; whoever waited is told peer_gone, which is never
// the candidate's. Members that call different collectives, or with different sizes, are all told so.
// A process may be a member of several groups at once; a group's handle is found by its id.
// Who calls it: worker.cc (join), executor.cc (calls, init, meetings).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "assay/abi.h"
#include "harness/device/device.hpp"
#include "harness/device/memory.hpp"
#include "harness/worker/black_box.hpp"
#include "harness/worker/communicator.hpp"

namespace assay {

struct Membership {
  std::uint64_t id = 0;     // equal on all members, no other group's
  int rank = 0, world = 1;  // within the group
};

class Group {
 public:
  virtual ~Group() = default;
  [[nodiscard]] virtual const assay_group* handle() const noexcept = 0;
  // All members meet, and known data goes round: the trusted control of a blamed trial.
  [[nodiscard]] virtual Outcome control() = 0;
  // What went wrong in the candidate's collectives since the last question.
  [[nodiscard]] virtual Outcome take_failure() = 0;
  virtual void allow_exchange(bool) = 0;  // inside init
};

// Over a judge's Segment. Throws DeviceError.
[[nodiscard]] std::unique_ptr<Group> make_host_group(const Membership&, int segment, BlackBox&);
// The same with symmetric memory of a domain, whose descriptors travel over the member's sockets (rank/post.hpp), and
// with a communicator, where the candidate has an NCCL. Returns when all members have joined.
[[nodiscard]] std::unique_ptr<Group> make_device_group(const Membership&, int segment, const std::vector<int>& sockets,
                                                       BlackBox&, std::unique_ptr<MemoryDomain>,
                                                       std::unique_ptr<Communicator>);

}  // namespace assay
