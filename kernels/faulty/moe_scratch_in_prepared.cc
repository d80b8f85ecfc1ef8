// Gathers the tokens into scratch that belongs to the prepared layer, which two calls on two streams share.
// Slot: moe.fused_experts. Caught by: stream.concurrent. Source: slots.md 7.
#include <unistd.h>

#include <cstring>
#include <map>

#include "kernels/faulty/moe.hpp"

namespace {

struct Gather {
  const void* from;
  void* to;
  int64_t bytes;
};

struct Fault : faulty::Moe<Fault> {
  static constexpr int64_t most = 1 << 20;  // more tokens take the right path
  static inline std::map<const void*, char*> scratch;

  static assay_status prepare(const assay_call* call, const assay_moe_weights* w, void** prepared) {
    const assay_status status = Right::prepare(call, w, prepared);
    if (status == ASSAY_OK) scratch[*prepared] = new char[most];
    return status;
  }
  static assay_status release(const assay_call* call, void* prepared) {
    delete[] scratch[prepared];
    scratch.erase(prepared);
    return Right::release(call, prepared);
  }
  static void gather(const void* memory, uint32_t, uint32_t) {
    const auto& g = *static_cast<const Gather*>(memory);
    std::memcpy(g.to, g.from, static_cast<size_t>(g.bytes));
  }
  // Stands for the work that a longer kernel would do between the two, so that two streams really overlap.
  static void wait_a_while(const void*, uint32_t, uint32_t) { usleep(20000); }
  static assay_status entry(const assay_call* call, assay_in x, assay_in ids, assay_in weights, const void* prepared,
                            assay_out out) {
    const int64_t bytes = x->shape[0] * x->shape[1] * x->dtype.bits / 8;
    if (bytes == 0 || bytes > most) return Right::entry(call, x, ids, weights, prepared, out);
    DLTensor gathered = *x;
    gathered.data = scratch[prepared];
    const Gather g = {x->data, gathered.data, bytes};
    faulty::launch(call, call->host_stream, gather, 1, g);
    faulty::launch(call, call->host_stream, wait_a_while, 1, 0);
    return Right::entry(call, &gathered, ids, weights, prepared, out);
  }
};

}  // namespace

FAULTY_MOE(Fault)
