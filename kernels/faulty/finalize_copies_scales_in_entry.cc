// Copies the scales in the entry: a replay weighs as its capture did.
// Slot: collective.moe_finalize_ar_rmsnorm. Caught by: graph.follows_inputs. Source: slots.md 1.2.
#include "kernels/faulty/residual_norm.hpp"

namespace {

using faulty::NormalisedArguments;

struct Fault : faulty::Finalize<Fault> {
  // A ring of calls that is longer than any graph or queue of the suite.
  struct Copy {
    float scales[16384];
  };
  static assay_status enqueue(const assay_call* call, const NormalisedArguments& a) {
    static Copy ring[16];
    static uint32_t next = 0;
    Copy& copy = ring[next++ % 16];
    for (int64_t t = 0; t < a.tokens; ++t)
      for (int64_t k = 0; k < a.places; ++k)
        copy.scales[t * a.places + k] = a.scales[t * a.scale_pitch + k * a.scale_step];
    NormalisedArguments own = a;
    own.scales = copy.scales;
    own.scale_pitch = a.places;
    own.scale_step = 1;
    return Right::enqueue(call, own);
  }
};

}  // namespace

FAULTY_FINALIZE(Fault)
