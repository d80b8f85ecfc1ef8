// Answers each question of the judge before it is asked, in the order in which they must come: what the worker says
// later is what no longer fits.
#include "kernels/hostile/control_socket.hpp"

namespace {

struct Attack : hostile::Silu<Attack> {
  // The question that is open: the judge's own answers to a worker that asks nothing cannot be seen, but their number
  // can be guessed from the commands that every worker is given: a device, the library, arenas, the call.
  static assay_status enqueue(const assay_call* call, const hostile::SiluArguments& a) {
    static const int socket = hostile::control_socket();
    static uint32_t sequence = 5;
    hostile::answer(socket, hostile::reply, ++sequence, "{}");
    return Right::enqueue(call, a);
  }
};

}  // namespace

HOSTILE_LIBRARY(Attack)
