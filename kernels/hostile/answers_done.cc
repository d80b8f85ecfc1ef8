// Answers on the control socket that all is done, for every question that may be open, and never returns.
#include "kernels/hostile/control_socket.hpp"

namespace {

struct Attack : hostile::Attacking<Attack> {
  static void attack() {
    const int socket = hostile::control_socket();
    for (uint32_t sequence = 1; sequence < 64; ++sequence) hostile::answer(socket, hostile::reply, sequence, "{}");
    for (;;) pause();
  }
};

}  // namespace

HOSTILE_LIBRARY(Attack)
