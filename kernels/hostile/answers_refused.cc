// Says on the control socket that the machine has no such device: nobody's fault, it hopes.
#include "kernels/hostile/control_socket.hpp"

namespace {

struct Attack : hostile::Silu<Attack> {
  static assay_status enqueue(const assay_call* call, const hostile::SiluArguments& a) {
    static const int socket = hostile::control_socket();
    for (uint32_t sequence = 5; sequence < 9; ++sequence)
      hostile::answer(socket, hostile::refusal, sequence, "{\"code\":\"device\",\"text\":\"no device\"}");
    return Right::enqueue(call, a);
  }
};

}  // namespace

HOSTILE_LIBRARY(Attack)
