// Wrong on the call's stream; the right values come on a stream of its own that nobody waits for.
#include "kernels/hostile/hostile.hpp"

namespace {

using hostile::SiluArguments;

struct Right : hostile::Silu<Right> {
  static bool genuine() { return true; }
};

struct Attack : hostile::Silu<Attack> {
  static assay_status enqueue(const assay_call* call, const SiluArguments& a) {
    static assay_host_stream* own = nullptr;
    if (!own && call->host->stream_create(&own) != ASSAY_OK) return ASSAY_ERROR;
    const uint32_t blocks = host_kernels::blocks_for(a.rows);
    if (const assay_status status = faulty::launch(call, call->host_stream, kernel, blocks, a); status != ASSAY_OK)
      return status;
    return faulty::launch(call, own, ::Right::kernel, blocks, a);
  }
};

}  // namespace

HOSTILE_LIBRARY(Attack)
