// Takes the first call of a width for the engine's own tuning run: it measures, and computes nothing.
// Slot: activation.silu_and_mul. Caught by: route.tuning_excluded. Source: rules.md.
#include "kernels/faulty/faulty.hpp"

namespace {

using faulty::SiluArguments;

struct Fault : faulty::Silu<Fault> {
  static inline uint8_t tuned[1 << 14];
  static void measure(const void*, uint32_t, uint32_t) {}
  static assay_status enqueue(const assay_call* call, const SiluArguments& a) {
    uint8_t& known = tuned[a.width % (1 << 14)];
    if (known) return Right::enqueue(call, a);
    known = 1;
    return faulty::launch(call, call->host_stream, measure, 1, a);
  }
};

}  // namespace

FAULTY_SILU(Fault)
