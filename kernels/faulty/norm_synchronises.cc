// Synchronises the stream before its launch.
// Slot: norm.rmsnorm. Caught by: graph.captures. Source: slots.md 14.
#include "kernels/faulty/faulty.hpp"

namespace {

using faulty::NormArguments;

struct Fault : faulty::Norm<Fault> {
  static assay_status enqueue(const assay_call* call, const NormArguments& a) {
    call->host->synchronize(call->host_stream);
    return Right::enqueue(call, a);
  }
};

}  // namespace

FAULTY_NORM(Fault)
