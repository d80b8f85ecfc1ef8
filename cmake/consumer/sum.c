/* collective.all_reduce by the group's own collective, in fp32 on the host model. */
#include <assay/abi.h>

static assay_status run(const assay_call *call, assay_in x, assay_out out) {
  return call->group->api->all_reduce_sum(call->group, call->host_stream, x, out);
}

static const assay_variant variant = {
    .size = sizeof variant, .flags = ASSAY_GRAPH_SAFE | ASSAY_DETERMINISTIC, .device_type = kDLCPU,
    .slot = "collective.all_reduce", .id = "sum", .capabilities = "{\"dtype\": [\"fp32\"]}",
    .entry = {.all_reduce = run}};
static const assay_variant *const variants[] = {&variant};
static const assay_library library = {sizeof library, ASSAY_ABI_VERSION, "sum", "1.0", variants, 1};
const assay_library *assay_get_library(uint32_t version) { return version == ASSAY_ABI_VERSION ? &library : 0; }
