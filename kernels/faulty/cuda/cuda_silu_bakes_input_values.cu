// Under capture the host reads the first gates and passes their values as kernel arguments, so that replays use the
// values of the capture.
// Slot: activation.silu_and_mul. Caught by: graph.follows_inputs. Source: rules.md.
#include "faulty.cuh"

constexpr int kBaked = 16;
struct Baked {
  float up_to[kBaked];
  int count;
};

static __global__ void read_kernel(faulty::Silu a, float* values, int count) {
  for (int c = 0; c < count; ++c) values[c] = a.x.cell(0, c);
}

static __global__ void baked_silu_kernel(faulty::Silu a, Baked baked) {
  for (std::int64_t row = blockIdx.x; row < a.out.rows; row += gridDim.x) {
    for (std::int64_t c = threadIdx.x; c < a.out.columns; c += blockDim.x) {
      const float gate = row == 0 && c < baked.count ? baked.up_to[c] : a.x.cell(row, c);
      a.out.set(row, c, faulty::silu(gate) * a.x.cell(row, c + a.out.columns));
    }
  }
}

static __device__ float gates[kBaked];

static assay_status entry(const assay_call* call, assay_in x, assay_out out) {
  const faulty::Silu a = faulty::silu_args(x, out);
  if (a.out.rows == 0 || !faulty::capturing(call)) return faulty::run_silu(call, a);
  Baked baked{};
  baked.count = static_cast<int>(a.out.columns < kBaked ? a.out.columns : kBaked);
  {
    const faulty::RelaxedCapture relaxed;
    const cudaStream_t side = faulty::side_stream();
    void* values = nullptr;
    cudaGetSymbolAddress(&values, gates);
    read_kernel<<<1, 1, 0, side>>>(a, static_cast<float*>(values), baked.count);
    cudaMemcpyAsync(baked.up_to, values, sizeof baked.up_to, cudaMemcpyDeviceToHost, side);
    const cudaError_t error = cudaStreamSynchronize(side);
    if (error != cudaSuccess) return faulty::check(call, error);
  }
  baked_silu_kernel<<<faulty::blocks(a.out), faulty::kThreads, 0, call->cuda_stream>>>(a, baked);
  return faulty::launched(call);
}

FAULTY_SILU(entry, faulty::silu_kernel, read_kernel, baked_silu_kernel)
