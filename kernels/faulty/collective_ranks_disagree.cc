// Rank 1 hands the group's all-reduce a row less than its peers do.
// Slot: collective.all_reduce. Caught by: verdict.attribution. Source: blame:entry_failed.
#include "kernels/faulty/collective.hpp"

namespace {

struct Fault : faulty::AllReduce<Fault> {
  static assay_status entry(const assay_call* call, assay_in x, assay_out out) {
    int64_t shape[2] = {x->shape[0], x->shape[1]};
    if (call->group->rank == 1 && shape[0] > 1) --shape[0];
    DLTensor in = *x, to = *out;
    in.shape = to.shape = shape;
    return call->group->api->all_reduce_sum(call->group, call->host_stream, &in, &to);
  }
};

}  // namespace

FAULTY_ALL_REDUCE(Fault)
