#include "harness/rank/post.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "harness/device/memory.hpp"

namespace assay {
namespace {

[[noreturn]] void fail(const char* what) { throw DeviceError(std::string(what) + ": " + std::strerror(errno)); }

// One integer and room for one descriptor.
struct Envelope {
  int from = -1;
  iovec part{&from, sizeof from};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};

  Envelope() {
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
  }
  Envelope(const Envelope&) = delete;
  Envelope& operator=(const Envelope&) = delete;
};

OwnedFd duplicate(int descriptor) {
  OwnedFd own(::fcntl(descriptor, F_DUPFD_CLOEXEC, 0));
  if (own.get() < 0) fail("cannot keep a group's socket");
  return own;
}

}  // namespace

Post::Post(int world) {
  for (int r = 0; r < world; ++r) {
    int pair[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) fail("cannot create a group's sockets");
    inboxes_.emplace_back(pair[0]);
    slots_.emplace_back(pair[1]);
  }
}

std::vector<int> Post::descriptors(int rank) const {
  std::vector<int> list{inboxes_[static_cast<std::size_t>(rank)].get()};
  for (const OwnedFd& slot : slots_) list.push_back(slot.get());
  return list;
}

PostBox::PostBox(int rank, const std::vector<int>& descriptors) : rank_(rank) {
  if (descriptors.empty()) throw DeviceError("a member of a group came without its sockets");
  inbox_ = duplicate(descriptors.front());
  for (std::size_t i = 1; i < descriptors.size(); ++i) slots_.push_back(duplicate(descriptors[i]));
}

void PostBox::send(int to, int descriptor) const {
  Envelope envelope;
  envelope.from = rank_;
  cmsghdr* const header = CMSG_FIRSTHDR(&envelope.message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof descriptor);
  std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  ssize_t sent;
  do sent = ::sendmsg(slots_.at(static_cast<std::size_t>(to)).get(), &envelope.message, MSG_NOSIGNAL | MSG_DONTWAIT);
  while (sent < 0 && errno == EINTR);
  if (sent < 0) fail("cannot send a peer's memory");
}

PostBox::Letter PostBox::receive() const {
  Envelope envelope;
  ssize_t got;
  do got = ::recvmsg(inbox_.get(), &envelope.message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  while (got < 0 && errno == EINTR);
  if (got < 0) fail("a peer's memory did not arrive");
  const cmsghdr* const header = CMSG_FIRSTHDR(&envelope.message);
  if (got != static_cast<ssize_t>(sizeof envelope.from) || header == nullptr || header->cmsg_type != SCM_RIGHTS)
    throw DeviceError("what a peer sent is no memory");
  int descriptor = -1;
  std::memcpy(&descriptor, CMSG_DATA(header), sizeof descriptor);
  return {envelope.from, OwnedFd(descriptor)};
}

}  // namespace assay
