// collective.all_reduce over peer memory: out = the sum of x over the group, rounded once.
#include "kernels/cuda/peer/sums.cuh"
#include "kernels/cuda/peer/variants.hpp"

namespace assay_cuda {
namespace {

template <class T>
assay_status run(const assay_call* call, const DLTensor& x, const DLTensor& out) {
  CopiedRow<T> source{};
  StoredSum<T> sink{};
  if (!row_cells_of<T>(x, &source.x) || !row_cells_of<T>(out, &sink.out))
    return fail(call, ASSAY_UNSUPPORTED, "all_reduce: more than 16 leading dimensions that do not merge");
  const Rows& r = source.x.rows;
  if (r.rows != sink.out.rows.rows || r.columns != sink.out.rows.columns)
    return fail(call, ASSAY_ERROR, "all_reduce: x and out differ in shape");
  return reduce(call, *static_cast<const Peers*>(call->state), source, sink, r.rows, r.columns);
}

assay_status entry(const assay_call* call, assay_in x, assay_out out) {
  if (is(x->dtype, kDLFloat, 32)) return run<F32>(call, *x, *out);
  if (is(x->dtype, kDLFloat, 16)) return run<F16>(call, *x, *out);
  if (is(x->dtype, kDLBfloat, 16)) return run<BF16>(call, *x, *out);
  return fail(call, ASSAY_UNSUPPORTED, "all_reduce: the dtype is not fp32, fp16 or bf16");
}

int preload_all() {
  if (const cudaError_t error = preload_reduction<CopiedRow<F32>, StoredSum<F32>>(); error != cudaSuccess) return error;
  if (const cudaError_t error = preload_reduction<CopiedRow<F16>, StoredSum<F16>>(); error != cudaSuccess) return error;
  return preload_reduction<CopiedRow<BF16>, StoredSum<BF16>>();
}

assay_status init(const assay_call* call, void** state) { return join(call, preload_all, state); }

constexpr assay_variant describe() {
  assay_variant v = peer_variant("collective.all_reduce", "peer", "{" PEER_DOMAIN "}");
  v.entry.all_reduce = entry;
  v.init = init;
  return v;
}

}  // namespace

const assay_variant peer_all_reduce = describe();

}  // namespace assay_cuda
