// Copies the routing weights in the entry: a replay weighs as its capture did.
// Slot: moe.fused_experts_reduce. Caught by: graph.follows_inputs. Source: slots.md 9.
#include "kernels/faulty/experts_reduce.hpp"

namespace {

using faulty::ExpertsArguments;

struct Fault : faulty::Reduced<Fault> {
  // A ring of calls that is longer than any graph or queue of the suite.
  struct Copy {
    float values[65536];
  };
  static assay_status enqueue(const assay_call* call, const ExpertsArguments& a) {
    static Copy ring[16];
    static uint32_t next = 0;
    Copy& copy = ring[next++ % 16];
    if (a.slots() > 65536) return Right::enqueue(call, a);
    for (int64_t s = 0; s < a.slots(); ++s) copy.values[s] = a.weight(s / a.places, s % a.places);
    ExpertsArguments own = a;
    own.weights = copy.values;
    own.weight_strides[0] = a.places;
    own.weight_strides[1] = 1;
    return Right::enqueue(call, own);
  }
};

}  // namespace

FAULTY_REDUCE(Fault)
