#include "harness/worker/protocol.hpp"

#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace assay {
namespace {

struct Header {
  std::uint32_t magic;
  std::uint16_t version, kind;
  std::uint32_t sequence, bytes;
  std::uint32_t spilled;  // 1: the payload is in the last descriptor
};

constexpr std::size_t kMaxDescriptors = 250;
constexpr std::uint32_t kMaxSpill = 64u << 20;

int spill(const std::string& payload) {
  const int fd = memfd_create("payload", MFD_CLOEXEC);
  if (fd < 0) throw ProtocolError("cannot create a memory file for a large message");
  std::size_t done = 0;
  while (done < payload.size()) {
    const ssize_t n = write(fd, payload.data() + done, payload.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      close(fd);
      throw ProtocolError("cannot write a large message to its memory file");
    }
    done += static_cast<std::size_t>(n);
  }
  return fd;
}

std::string unspill(int fd, std::uint32_t bytes) {
  std::string payload(bytes, '\0');
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t n = pread(fd, payload.data() + done, bytes - done, static_cast<off_t>(done));
    if (n <= 0) throw ProtocolError("a large message is shorter than its header says");
    done += static_cast<std::size_t>(n);
  }
  return payload;
}

}  // namespace

void send_message(int socket, const Message& message) {
  Header header{kMagic, kProtocolVersion, static_cast<std::uint16_t>(message.kind), message.sequence,
                static_cast<std::uint32_t>(message.payload.size()), 0};
  std::vector<int> fds = message.descriptors;
  int spilled = -1;
  if (message.payload.size() + sizeof header > kMaxFrame) {
    spilled = spill(message.payload);
    fds.push_back(spilled);
    header.spilled = 1;
  }
  if (fds.size() > kMaxDescriptors) throw ProtocolError("a message carries too many descriptors");
  iovec parts[2] = {{&header, sizeof header},
                    {const_cast<char*>(message.payload.data()), header.spilled ? 0 : message.payload.size()}};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMaxDescriptors)];
  msghdr out{};
  out.msg_iov = parts;
  out.msg_iovlen = 2;
  if (!fds.empty()) {
    out.msg_control = control;
    out.msg_controllen = CMSG_SPACE(sizeof(int) * fds.size());
    cmsghdr* c = CMSG_FIRSTHDR(&out);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int) * fds.size());
    std::memcpy(CMSG_DATA(c), fds.data(), sizeof(int) * fds.size());
  }
  ssize_t n;
  do n = sendmsg(socket, &out, MSG_NOSIGNAL);
  while (n < 0 && errno == EINTR);
  const int error = errno;
  if (spilled >= 0) close(spilled);
  if (n < 0) throw ProtocolError(std::string("cannot send to the peer: ") + std::strerror(error));
}

std::optional<Message> receive_message(int socket, int timeout_ms) {
  if (timeout_ms >= 0) {
    pollfd p{socket, POLLIN, 0};
    int ready;
    do ready = poll(&p, 1, timeout_ms);
    while (ready < 0 && errno == EINTR);
    if (ready == 0) return std::nullopt;
    if (ready < 0) throw ProtocolError("cannot wait for the peer");
  }
  Header header{};
  thread_local std::string buffer(kMaxFrame, '\0');
  iovec parts[2] = {{&header, sizeof header}, {buffer.data(), buffer.size()}};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMaxDescriptors)];
  msghdr in{};
  in.msg_iov = parts;
  in.msg_iovlen = 2;
  in.msg_control = control;
  in.msg_controllen = sizeof control;
  ssize_t n;
  do n = recvmsg(socket, &in, MSG_CMSG_CLOEXEC);
  while (n < 0 && errno == EINTR);
  Message message;
  for (cmsghdr* c = n >= 0 ? CMSG_FIRSTHDR(&in) : nullptr; c; c = CMSG_NXTHDR(&in, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    message.descriptors.resize(count);
    std::memcpy(message.descriptors.data(), CMSG_DATA(c), count * sizeof(int));
  }
  const auto refuse = [&](const char* why) {
    for (int fd : message.descriptors) close(fd);
    throw ProtocolError(why);
  };
  if (n == 0) refuse("the peer closed the connection");
  if (n < 0) refuse("the connection to the peer is broken");
  if (in.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) refuse("a frame is larger than the protocol allows");
  if (static_cast<std::size_t>(n) < sizeof header) refuse("a frame is shorter than its header");
  if (header.magic != kMagic) refuse("a frame does not start with the protocol's magic");
  if (header.version != kProtocolVersion) refuse("the peer speaks another version of the protocol");
  if (header.kind > static_cast<std::uint16_t>(Frame::failed)) refuse("a frame has an unknown kind");
  message.kind = static_cast<Frame>(header.kind);
  message.sequence = header.sequence;
  if (header.spilled) {
    if (message.descriptors.empty() || header.bytes > kMaxSpill) refuse("a large message came without its memory file");
    const int fd = message.descriptors.back();
    message.descriptors.pop_back();
    try {
      message.payload = unspill(fd, header.bytes);
    } catch (const ProtocolError&) {
      close(fd);
      refuse("a large message is shorter than its header says");
    }
    close(fd);
  } else {
    if (static_cast<std::size_t>(n) - sizeof header != header.bytes) refuse("a frame's length differs from its header");
    message.payload.assign(buffer.data(), header.bytes);
  }
  return message;
}

}  // namespace assay
