// post.hpp: file descriptors on their way between the members of one group, who share no process and no name.
//
// Promises: what one member sends to another arrives once, with its sender's rank, in the order in which that sender
// sent it. Sockets without a name: they end with the last process that holds them.
// Does not: wait. A member that receives knows that something was sent, from a meeting (segment.hpp) after the sending.
// Who uses it: harness/rank (judge: creates it), harness/worker/device_group.cc (members).
#pragma once

#include <vector>

#include "harness/device/owned_fd.hpp"

namespace assay {

// Judge.
class Post {
 public:
  explicit Post(int world);  // throws DeviceError
  // What a member's PostBox is made of; owned by the post.
  [[nodiscard]] std::vector<int> descriptors(int rank) const;

 private:
  std::vector<OwnedFd> inboxes_, slots_;  // by rank: where it reads, and where the others write
};

// Member.
class PostBox {
 public:
  PostBox(int rank, const std::vector<int>& descriptors);  // duplicates them. Throws DeviceError
  void send(int to, int descriptor) const;                 // throws DeviceError
  struct Letter {
    int from = -1;
    OwnedFd descriptor;
  };
  [[nodiscard]] Letter receive() const;  // throws DeviceError where nothing has arrived

 private:
  int rank_;
  OwnedFd inbox_;
  std::vector<OwnedFd> slots_;
};

}  // namespace assay
