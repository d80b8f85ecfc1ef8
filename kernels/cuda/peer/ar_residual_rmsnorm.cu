// collective.ar_residual_rmsnorm over peer memory: all-reduce, residual and RMSNorm in one kernel.
#include "kernels/cuda/peer/residual_norm.cuh"
#include "kernels/cuda/peer/variants.hpp"

namespace assay_cuda {
namespace {

template <class T>
assay_status run(const assay_call* call, assay_in x, assay_in residual, assay_in weight, double eps, assay_out out_norm,
                 assay_out out_residual) {
  CopiedRow<T> source{};
  ResidualNorm<T> sink{};
  const assay_status status = describe_norm(call, residual, weight, eps, out_norm, out_residual, &sink);
  if (status != ASSAY_OK) return status;
  if (!row_cells_of<T>(*x, &source.x))
    return fail(call, ASSAY_UNSUPPORTED, "more than 16 leading dimensions that do not merge");
  const Rows& r = sink.residual.rows;
  if (source.x.rows.rows != r.rows || source.x.rows.columns != r.columns)
    return fail(call, ASSAY_ERROR, "ar_residual_rmsnorm: x and residual differ in shape");
  return reduce(call, *static_cast<const Peers*>(call->state), source, sink, r.rows, r.columns);
}

assay_status entry(const assay_call* call, assay_in x, assay_in residual, assay_in weight, double eps,
                   assay_out out_norm, assay_out out_residual) {
  if (is(x->dtype, kDLFloat, 32)) return run<F32>(call, x, residual, weight, eps, out_norm, out_residual);
  if (is(x->dtype, kDLFloat, 16)) return run<F16>(call, x, residual, weight, eps, out_norm, out_residual);
  if (is(x->dtype, kDLBfloat, 16)) return run<BF16>(call, x, residual, weight, eps, out_norm, out_residual);
  return fail(call, ASSAY_UNSUPPORTED, "ar_residual_rmsnorm: the dtype is not fp32, fp16 or bf16");
}

int preload_all() {
  if (const cudaError_t error = preload_reduction<CopiedRow<F32>, ResidualNorm<F32>>(); error != cudaSuccess)
    return error;
  if (const cudaError_t error = preload_reduction<CopiedRow<F16>, ResidualNorm<F16>>(); error != cudaSuccess)
    return error;
  return preload_reduction<CopiedRow<BF16>, ResidualNorm<BF16>>();
}

assay_status init(const assay_call* call, void** state) { return join(call, preload_all, state); }

constexpr assay_variant describe() {
  assay_variant v = peer_variant("collective.ar_residual_rmsnorm", "peer", "{" PEER_DOMAIN "}");
  v.entry.ar_residual_rmsnorm = entry;
  v.init = init;
  return v;
}

}  // namespace

const assay_variant peer_ar_residual_rmsnorm = describe();

}  // namespace assay_cuda
