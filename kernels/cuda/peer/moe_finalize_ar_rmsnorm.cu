// collective.moe_finalize_ar_rmsnorm over peer memory. Each rank finalises its own rows on the way to the wire, in
// fp32, so that the sum over places and ranks is rounded once. Tokens that are trimmed are never read.
#include "kernels/cuda/peer/residual_norm.cuh"
#include "kernels/cuda/peer/variants.hpp"

namespace assay_cuda {
namespace {

template <class T>
struct FinalisedRow {
  using Wire = F32;
  RowCells gemm_out;
  const std::int32_t* map;
  const float* scales;
  std::int64_t map_step, scale_pitch, scale_step;
  std::int64_t tokens;  // all of them: the map's K-major stride
  int places;

  template <int kCells>
  __device__ void part(std::int64_t token, int first, int columns, float (&sum)[kCells]) const {
    constexpr int kAtOnce = 4;
#pragma unroll
    for (int c = 0; c < kCells; ++c) sum[c] = 0.0f;
    for (int base = 0; base < places; base += kAtOnce) {
      float scale[kAtOnce];
      typename T::Cell cells[kAtOnce][kCells];
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        if (base + i >= places) break;
        scale[i] = scales[token * scale_pitch + (base + i) * scale_step];
        gemm_out.load<T>(map[(token + (base + i) * tokens) * map_step], first, columns, cells[i]);
      }
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        if (base + i >= places) break;
#pragma unroll
        for (int c = 0; c < kCells; ++c) sum[c] = fmaf(scale[i], T::widen(cells[i][c]), sum[c]);
      }
    }
  }
};

template <class T>
assay_status run(const assay_call* call, assay_in gemm_out, assay_in row_map, assay_in scales, assay_in residual,
                 assay_in weight, double eps, assay_out out_norm, assay_out out_residual) {
  FinalisedRow<T> source{};
  ResidualNorm<T> sink{};
  const assay_status status = describe_norm(call, residual, weight, eps, out_norm, out_residual, &sink);
  if (status != ASSAY_OK) return status;
  if (!row_cells_of<T>(*gemm_out, &source.gemm_out))
    return fail(call, ASSAY_UNSUPPORTED, "more than 16 leading dimensions that do not merge");
  const Rows& r = sink.residual.rows;
  const std::int64_t tokens = scales->shape[0], places = scales->shape[1];
  if (tokens < r.rows || row_map->shape[0] != tokens * places || source.gemm_out.rows.rows != tokens * places ||
      source.gemm_out.rows.columns != r.columns)
    return fail(call, ASSAY_ERROR, "moe_finalize: not (T_exp*K,H), (T_exp*K) and (T_exp,K) for T_exp >= T");
  source.map = static_cast<const std::int32_t*>(row_map->data);
  source.scales = static_cast<const float*>(scales->data);
  source.map_step = row_map->strides[0];
  source.scale_pitch = scales->strides[0];
  source.scale_step = scales->strides[1];
  source.tokens = tokens;
  source.places = static_cast<int>(places);
  return reduce(call, *static_cast<const Peers*>(call->state), source, sink, r.rows, r.columns);
}

assay_status entry(const assay_call* call, assay_in gemm_out, assay_in row_map, assay_in scales, assay_in residual,
                   assay_in weight, double eps, assay_out out_norm, assay_out out_residual) {
  const DLDataType type = gemm_out->dtype;
  auto* const run_as = is(type, kDLFloat, 32)    ? run<F32>
                       : is(type, kDLFloat, 16)  ? run<F16>
                       : is(type, kDLBfloat, 16) ? run<BF16>
                                                 : nullptr;
  if (run_as == nullptr) return fail(call, ASSAY_UNSUPPORTED, "moe_finalize: the dtype is not fp32, fp16 or bf16");
  return run_as(call, gemm_out, row_map, scales, residual, weight, eps, out_norm, out_residual);
}

int preload_all() {
  if (const cudaError_t error = preload_reduction<FinalisedRow<F32>, ResidualNorm<F32>>(); error != cudaSuccess)
    return error;
  if (const cudaError_t error = preload_reduction<FinalisedRow<F16>, ResidualNorm<F16>>(); error != cudaSuccess)
    return error;
  return preload_reduction<FinalisedRow<BF16>, ResidualNorm<BF16>>();
}

assay_status init(const assay_call* call, void** state) { return join(call, preload_all, state); }

constexpr assay_variant describe() {
  assay_variant v = peer_variant("collective.moe_finalize_ar_rmsnorm", "peer", "{" PEER_DOMAIN "}");
  v.entry.moe_finalize_ar_rmsnorm = entry;
  v.init = init;
  return v;
}

}  // namespace

const assay_variant peer_moe_finalize_ar_rmsnorm = describe();

}  // namespace assay_cuda
