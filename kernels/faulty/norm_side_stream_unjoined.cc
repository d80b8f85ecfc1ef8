// Launches on a side stream that waits for the call's but is never joined back.
// Slot: norm.rmsnorm. Caught by: stream.ordered. Source: slots.md 14.
#include "kernels/faulty/faulty.hpp"

namespace {

using faulty::NormArguments;

struct Fault : faulty::Norm<Fault> {
  static assay_status enqueue(const assay_call* call, const NormArguments& a) {
    assay_host_stream* side = nullptr;
    assay_host_event* fork = nullptr;
    call->host->stream_create(&side);
    call->host->event_create(&fork);
    call->host->event_record(fork, call->host_stream);
    call->host->stream_wait(side, fork);
    const assay_status status = faulty::launch(call, side, kernel, host_kernels::blocks_for(a.rows), a);
    call->host->event_destroy(fork);
    call->host->stream_destroy(side);
    return status;
  }
};

}  // namespace

FAULTY_NORM(Fault)
