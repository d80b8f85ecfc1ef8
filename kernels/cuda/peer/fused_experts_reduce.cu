// moe.fused_experts_reduce over peer memory: the grouped products of fused_experts.cu into fp32 rows of the workspace,
// then one kernel that sums those over the group and rounds once.
#include "kernels/cuda/entries.hpp"
#include "kernels/cuda/peer/sums.cuh"
#include "kernels/cuda/peer/variants.hpp"

namespace assay_cuda {
namespace {

// This rank's rows lie at the start of the workspace, the scratch of the products behind them.
std::size_t rows_bytes(const DLTensor& x) {
  return (static_cast<std::size_t>(x.shape[0] * x.shape[1]) * sizeof(float) + 255) / 256 * 256;
}

assay_status workspace(const assay_call* call, const DLTensor* const* tensors, std::uint32_t count,
                       std::size_t* bytes) {
  const assay_status status = fused_experts_workspace(call, tensors, count, bytes);
  if (status == ASSAY_OK) *bytes += rows_bytes(*tensors[0]);
  return status;
}

template <class T>
assay_status deliver(const assay_call* call, const DLTensor& rows, const DLTensor& out) {
  CopiedRow<F32> source{};
  StoredSum<T> sink{};
  row_cells_of<F32>(rows, &source.x);  // two contiguous dimensions: always possible
  if (!row_cells_of<T>(out, &sink.out)) return fail(call, ASSAY_UNSUPPORTED, "fused_experts_reduce: the rank of out");
  return reduce(call, *static_cast<const Peers*>(call->state), source, sink, source.x.rows.rows, source.x.rows.columns);
}

assay_status entry(const assay_call* call, assay_in x, assay_in topk_ids, assay_in topk_weights, const void* prepared,
                   assay_out out) {
  if (x->shape[0] == 0 || x->shape[1] == 0) return ASSAY_OK;
  const std::size_t taken = rows_bytes(*x);
  if (call->workspace == nullptr || call->workspace_bytes < taken)
    return fail(call, ASSAY_ERROR, "fused_experts_reduce: the workspace is too small");
  std::int64_t shape[2] = {x->shape[0], x->shape[1]}, strides[2] = {x->shape[1], 1};
  DLTensor rows = *out;
  rows.data = call->workspace;
  rows.ndim = 2;
  rows.dtype = {kDLFloat, 32, 1};
  rows.shape = shape;
  rows.strides = strides;
  assay_call local = *call;
  local.workspace = static_cast<char*>(call->workspace) + taken;
  local.workspace_bytes = call->workspace_bytes - taken;
  const assay_status status = fused_experts(&local, x, topk_ids, topk_weights, prepared, &rows);
  if (status != ASSAY_OK) return status;
  if (is(out->dtype, kDLFloat, 32)) return deliver<F32>(call, rows, *out);
  if (is(out->dtype, kDLFloat, 16)) return deliver<F16>(call, rows, *out);
  return deliver<BF16>(call, rows, *out);
}

int preload_all() {
  if (const int error = preload_fused_experts(); error != 0) return error;
  if (const cudaError_t error = preload_reduction<CopiedRow<F32>, StoredSum<F32>>(); error != cudaSuccess) return error;
  if (const cudaError_t error = preload_reduction<CopiedRow<F32>, StoredSum<F16>>(); error != cudaSuccess) return error;
  return preload_reduction<CopiedRow<F32>, StoredSum<BF16>>();
}

assay_status init(const assay_call* call, void** state) { return join(call, preload_all, state); }

constexpr assay_variant describe(const char* id, const char* capabilities) {
  assay_variant v = peer_variant("moe.fused_experts_reduce", id, capabilities);
  v.entry.fused_experts_reduce = entry;
  v.workspace = workspace;
  v.init = init;
  v.prepare = prepare_fused_experts;
  v.release = release_fused_experts;
  return v;
}

}  // namespace

const assay_variant peer_fused_experts_reduce = describe("peer.grouped", "{" PEER_DOMAIN "}");
const assay_variant peer_fused_experts_reduce_m3 =
    describe("peer.m3_dense", R"({"model": "MiniMax-M3", "quant": "dense", )" PEER_DOMAIN "}");
const assay_variant peer_fused_experts_reduce_nvfp4 = describe(
    "peer.nvfp4", R"({"model": "MiniMax-M3", "quant": "nvfp4", "dtype": ["bfloat16", "float16"], )" PEER_SIZES "}");

}  // namespace assay_cuda
