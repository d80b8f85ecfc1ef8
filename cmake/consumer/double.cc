// A kernel for consumer.double in fp32. Built with IGNORES_STRIDES it is wrong on purpose.
#include "double.hpp"

namespace {

struct Job {
  const float* x;
  float* out;
  int64_t rows, n, x_pitch, out_pitch;
};

void kernel(const void* args, uint32_t block, uint32_t blocks) {
  const Job& j = *static_cast<const Job*>(args);
  for (int64_t row = block; row < j.rows; row += blocks)
    for (int64_t i = 0; i < j.n; ++i) j.out[row * j.out_pitch + i] = 2 * j.x[row * j.x_pitch + i];
}

assay_status run(const assay_call* call, assay_in x, assay_out out) {
#ifdef IGNORES_STRIDES
  const Job j = {
      static_cast<float*>(x->data), static_cast<float*>(out->data), x->shape[0], x->shape[1], x->shape[1], x->shape[1]};
#else
  const Job j = {static_cast<float*>(x->data),
                 static_cast<float*>(out->data),
                 x->shape[0],
                 x->shape[1],
                 x->strides[0],
                 out->strides[0]};
#endif
  return j.rows == 0 ? ASSAY_OK : call->host->launch(call->host_stream, kernel, 2, &j, sizeof j);
}

const assay_variant variant = {.size = sizeof variant,
                               .flags = ASSAY_GRAPH_SAFE,
                               .device_type = kDLCPU,
                               .slot = "consumer.double",
                               .id = "mine",
                               .signature = "io",
                               .capabilities = R"({"dtype": ["fp32"]})",
                               .entry = {.any = ASSAY_ANY(double_fn, run)},
                               .workspace = nullptr,
                               .init = nullptr,
                               .destroy = nullptr,
                               .prepare = nullptr,
                               .release = nullptr};
const assay_variant* const variants[] = {&variant};
const assay_library library = {sizeof library, ASSAY_ABI_VERSION, "double", "1.0", variants, 1};

}  // namespace

const assay_library* assay_get_library(uint32_t version) { return version == ASSAY_ABI_VERSION ? &library : nullptr; }
