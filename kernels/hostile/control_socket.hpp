// control_socket.hpp: the worker's end of its socket to the judge, as an author finds it who has read the harness.
#pragma once

#include <sys/socket.h>

#include "kernels/hostile/hostile.hpp"

namespace hostile {

// -1: there is none.
inline int control_socket() {
  for (int fd = 3; fd < 1024; ++fd) {
    int type = 0;
    socklen_t size = sizeof type;
    if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_SEQPACKET) return fd;
  }
  return -1;
}

// harness/worker/protocol.cc
struct Frame {
  uint32_t magic = 0x59415341;
  uint16_t version = 4, kind;
  uint32_t sequence, bytes, spilled = 0;
  char payload[64] = {};
};
constexpr uint16_t reply = 8, refusal = 9;

inline void answer(int socket, uint16_t kind, uint32_t sequence, const char* payload) {
  Frame frame{};
  frame.kind = kind;
  frame.sequence = sequence;
  frame.bytes = static_cast<uint32_t>(strlen(payload));
  memcpy(frame.payload, payload, frame.bytes);
  (void)!send(socket, &frame, 20 + frame.bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace hostile
