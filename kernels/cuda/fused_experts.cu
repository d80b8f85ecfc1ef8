// moe.fused_experts: out[m] = sum over places k of topk_weights[m, k] * w2[e] . act(w13[e] . x[m]), e = topk_ids[m, k].
//
// Pairs are sorted by expert (moe_routing.cuh), the two products run over tiles of one expert's pairs (moe_gemm.cuh)
// and leave one fp32 row a pair; the last kernel adds a token's rows in the order of its list. Grids follow from shapes
// alone. The intermediate passes in slices of kInterColumns, since the scratch that the tensors of a call determine
// cannot depend on its width. prepare copies nothing: weights are read where they lie, NVFP4 is decoded on the way into
// shared memory and an expert's outer scale meets the fp32 sum.
#include <new>

#include "entries.hpp"
#include "moe_gemm.cuh"
#include "moe_routing.cuh"
#include "rows.cuh"

namespace assay_cuda {
namespace {

// What prepare leaves behind. Read only, so that calls may overlap.
struct Layer {
  bool nvfp4;
  Activation activation;
  DLDataType type;  // of dense weights
  std::int64_t experts, hidden, inter;
  const void *w13, *w2;
  const std::uint8_t *w13_scale, *w2_scale;
  const float *g1_alphas, *g2_alphas, *a1_inv, *a2_inv;
};

constexpr std::int64_t kMaxPairs = std::int64_t{1} << 30;  // positions are 32-bit
constexpr std::int64_t kMaxGridY = 65535;
constexpr int kCombineThreads = 128;

// Where a call's scratch lies: a block of bytes cut up by the shapes of x and topk_ids.
struct Scratch {
  std::int64_t pairs, sorted, tiles, inter, partial, bytes;

  Scratch(const DLTensor& x, const DLTensor& ids) {
    pairs = ids.shape[0] * ids.shape[1];
    std::int64_t end = 0;
    const auto take = [&end](std::int64_t size) {
      const std::int64_t start = end;
      end += (size + 255) / 256 * 256;
      return start;
    };
    const std::int64_t live = pairs * x.shape[1] > 0 ? pairs : 0;
    sorted = take(live * static_cast<std::int64_t>(sizeof(int)));
    // The count of experts is not known here: no more than pairs of them have a tile.
    tiles = take(live > 0 ? tile_slots(live, live) * static_cast<std::int64_t>(sizeof(MoeTile)) : 0);
    inter = take(live * kInterColumns * static_cast<std::int64_t>(sizeof(float)));
    partial = take(live * x.shape[1] * static_cast<std::int64_t>(sizeof(float)));
    bytes = end;
  }
};

struct CombineArgs {
  const float* partial;
  const float* scales;  // topk_weights
  std::int64_t scales_pitch;
  int top_k;
  void* out;
  std::int64_t out_pitch, hidden;
};

// One row of the output a block of x, its columns by blocks of y.
template <class T>
__global__ void __launch_bounds__(kCombineThreads) combine_kernel(const __grid_constant__ CombineArgs args) {
  const std::int64_t token = blockIdx.x;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.y) * kCombineThreads;
  for (std::int64_t n = static_cast<std::int64_t>(blockIdx.y) * kCombineThreads + threadIdx.x; n < args.hidden;
       n += step) {
    float sum = 0.0f;
    for (int place = 0; place < args.top_k; ++place)
      sum = fmaf(args.scales[token * args.scales_pitch + place],
                 args.partial[(token * args.top_k + place) * args.hidden + n], sum);
    static_cast<typename T::Cell*>(args.out)[token * args.out_pitch + n] = T::narrow(sum);
  }
}

bool on_16_bytes(const void* data, std::int64_t pitch_bytes) {
  return reinterpret_cast<std::uintptr_t>(data) % 16 == 0 && pitch_bytes % 16 == 0;
}

template <class T>
DenseMatrix<T> dense(const void* data, std::int64_t rows, std::int64_t columns) {
  using Cell = typename T::Cell;
  return {static_cast<const Cell*>(data), rows, columns,
          on_16_bytes(data, columns * static_cast<std::int64_t>(sizeof(Cell)))};
}

unsigned blocks_of(std::int64_t cells, std::int64_t per_block) {
  return static_cast<unsigned>((cells + per_block - 1) / per_block);
}

// What both products of a call share.
template <class Matrix>
GemmArgs<Matrix> common_args(const Layer& layer, const Scratch& scratch, char* workspace, const DLTensor& x, int top_k,
                             bool x_vector) {
  GemmArgs<Matrix> args{};
  args.tiles = reinterpret_cast<const MoeTile*>(workspace + scratch.tiles);
  args.sorted = reinterpret_cast<const int*>(workspace + scratch.sorted);
  args.top_k = top_k;
  args.activation = layer.activation;
  args.x = x.data;
  args.x_pitch = x.strides[0];
  args.x_vector = x_vector;
  args.inter = reinterpret_cast<float*>(workspace + scratch.inter);
  args.partial = reinterpret_cast<float*>(workspace + scratch.partial);
  args.hidden = layer.hidden;
  args.inter_rows = layer.inter;
  return args;
}

template <class T, class Matrix>
assay_status products(const assay_call* call, GemmArgs<Matrix> args, unsigned slots, const Matrix& w13,
                      const Matrix& w2) {
  do {
    const std::int64_t left = args.inter_rows - args.first;
    args.width = static_cast<int>(left < kInterColumns ? left : kInterColumns);
    if (args.width > 0) {
      args.weights = w13;
      const dim3 grid(slots, blocks_of(args.width, kTileColumns));
      const assay_status status =
          launch(call, grouped_gemm_kernel<T, Matrix, Product::first>, grid, kGemmThreads, args);
      if (status != ASSAY_OK) return status;
    }
    args.weights = w2;
    const dim3 grid(slots, blocks_of(args.hidden, kTileWeights));
    const assay_status status = launch(call, grouped_gemm_kernel<T, Matrix, Product::second>, grid, kGemmThreads, args);
    if (status != ASSAY_OK) return status;
    args.first += kInterColumns;
  } while (args.first < args.inter_rows);
  return ASSAY_OK;
}

template <class T>
assay_status run(const assay_call* call, const Layer& layer, const DLTensor& x, const DLTensor& ids,
                 const DLTensor& scales, const DLTensor& out) {
  using Cell = typename T::Cell;
  const Scratch scratch(x, ids);
  if (call->workspace == nullptr || call->workspace_bytes < static_cast<std::size_t>(scratch.bytes))
    return fail(call, ASSAY_ERROR, "fused_experts: the workspace is too small");
  if (scratch.pairs > kMaxPairs || (layer.hidden + kTileWeights - 1) / kTileWeights > kMaxGridY)
    return fail(call, ASSAY_UNSUPPORTED, "fused_experts: more than 2^30 pairs or 8 million columns");
  char* const workspace = static_cast<char*>(call->workspace);
  const int top_k = static_cast<int>(ids.shape[1]);

  RouteArgs route{};
  route.ids = static_cast<const std::int32_t*>(ids.data);
  route.ids_pitch = ids.strides[0];
  route.top_k = top_k;
  route.pairs = static_cast<int>(scratch.pairs);
  route.slots = static_cast<int>(tile_slots(scratch.pairs, layer.experts));
  route.sorted = reinterpret_cast<int*>(workspace + scratch.sorted);
  route.tiles = reinterpret_cast<MoeTile*>(workspace + scratch.tiles);
  assay_status status =
      launch(call, clear_tiles_kernel, dim3(blocks_of(route.slots, kRouteThreads)), dim3(kRouteThreads), route);
  if (status != ASSAY_OK) return status;
  status = launch(call, route_kernel, dim3(static_cast<unsigned>(layer.experts)), dim3(kRouteThreads), route);
  if (status != ASSAY_OK) return status;

  const bool x_vector = on_16_bytes(x.data, x.strides[0] * static_cast<std::int64_t>(sizeof(Cell)));
  const unsigned slots = static_cast<unsigned>(route.slots);
  if (!layer.nvfp4) {
    status =
        products<T>(call, common_args<DenseMatrix<T>>(layer, scratch, workspace, x, top_k, x_vector), slots,
                    dense<T>(layer.w13, 2 * layer.inter, layer.hidden), dense<T>(layer.w2, layer.hidden, layer.inter));
  } else if constexpr (!std::is_same<T, F32>::value) {
    const Nvfp4Matrix w13{static_cast<const std::uint8_t*>(layer.w13),
                          layer.w13_scale,
                          layer.g1_alphas,
                          layer.a1_inv,
                          2 * layer.inter,
                          layer.hidden};
    const Nvfp4Matrix w2{static_cast<const std::uint8_t*>(layer.w2),
                         layer.w2_scale,
                         layer.g2_alphas,
                         layer.a2_inv,
                         layer.hidden,
                         layer.inter};
    status = products<T>(call, common_args<Nvfp4Matrix>(layer, scratch, workspace, x, top_k, x_vector), slots, w13, w2);
  } else {
    return fail(call, ASSAY_UNSUPPORTED, "fused_experts: NVFP4 weights with fp32 tokens");
  }
  if (status != ASSAY_OK) return status;

  CombineArgs combine{};
  combine.partial = reinterpret_cast<const float*>(workspace + scratch.partial);
  combine.scales = static_cast<const float*>(scales.data);
  combine.scales_pitch = scales.strides[0];
  combine.top_k = top_k;
  combine.out = out.data;
  combine.out_pitch = out.strides[0];
  combine.hidden = layer.hidden;
  const dim3 grid(static_cast<unsigned>(x.shape[0]), blocks_of(layer.hidden, kCombineThreads));
  return launch(call, is(out.dtype, kDLFloat, 32) ? combine_kernel<F32> : combine_kernel<T>, grid,
                dim3(kCombineThreads), combine);
}

template <class Args>
cudaError_t preload_each(std::initializer_list<void (*)(Args)> kernels) {
  for (auto kernel : kernels) {
    if (const cudaError_t error = preload(kernel); error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

template <class T, class Matrix>
cudaError_t preload_products() {
  return preload_each<GemmArgs<Matrix>>(
      {grouped_gemm_kernel<T, Matrix, Product::first>, grouped_gemm_kernel<T, Matrix, Product::second>});
}

bool is_text(const char* text, const char* expected) { return text != nullptr && std::strcmp(text, expected) == 0; }

const float* floats(assay_in tensor) { return static_cast<const float*>(tensor->data); }
const std::uint8_t* bytes(assay_in tensor) { return static_cast<const std::uint8_t*>(tensor->data); }

}  // namespace

assay_status fused_experts_workspace(const assay_call* call, const DLTensor* const* tensors, uint32_t count,
                                     std::size_t* bytes) {
  if (count != 4) return fail(call, ASSAY_ERROR, "fused_experts: four tensors are expected");
  *bytes = static_cast<std::size_t>(Scratch(*tensors[0], *tensors[1]).bytes);
  return ASSAY_OK;
}

assay_status prepare_fused_experts(const assay_call* call, const assay_moe_weights* weights, void** prepared) {
  *prepared = nullptr;
  Layer layer{};
  layer.experts = weights->num_experts;
  layer.hidden = weights->hidden_size;
  layer.inter = weights->intermediate;
  layer.nvfp4 = is_text(weights->form, "nvfp4_layer");
  if (!layer.nvfp4 && !is_text(weights->form, "dense")) return fail(call, ASSAY_UNSUPPORTED, "fused_experts: the form");
  if (is_text(weights->activation, "swigluoai")) {
    layer.activation = Activation::swigluoai;
  } else if (!is_text(weights->activation, "silu")) {
    return fail(call, ASSAY_UNSUPPORTED, "fused_experts: the activation");
  }
  if (weights->layout != nullptr && !is_text(weights->layout, "gate_up"))
    return fail(call, ASSAY_UNSUPPORTED, "fused_experts: the layout of w13");
  layer.type = weights->w13->dtype;
  layer.w13 = weights->w13->data;
  layer.w2 = weights->w2->data;
  if (layer.nvfp4) {
    if (weights->group_size != kScaledGroup || layer.hidden % kScaledGroup != 0 || layer.inter % kScaledGroup != 0)
      return fail(call, ASSAY_UNSUPPORTED, "fused_experts: sizes that are no multiples of the group of 16");
    layer.w13_scale = bytes(weights->w13_scale);
    layer.w2_scale = bytes(weights->w2_scale);
    layer.g1_alphas = floats(weights->g1_alphas);
    layer.g2_alphas = floats(weights->g2_alphas);
    layer.a1_inv = floats(weights->a1_inv);
    layer.a2_inv = floats(weights->a2_inv);
  }
  Layer* const kept = new (std::nothrow) Layer(layer);
  if (kept == nullptr) return fail(call, ASSAY_ERROR, "fused_experts: no memory");
  *prepared = kept;
  return ASSAY_OK;
}

assay_status release_fused_experts(const assay_call*, void* prepared) {
  delete static_cast<Layer*>(prepared);
  return ASSAY_OK;
}

assay_status fused_experts(const assay_call* call, assay_in x, assay_in topk_ids, assay_in topk_weights,
                           const void* prepared, assay_out out) {
  const Layer& layer = *static_cast<const Layer*>(prepared);
  if (x->shape[0] == 0 || x->shape[1] == 0) return ASSAY_OK;
  if (x->shape[1] != layer.hidden) return fail(call, ASSAY_ERROR, "fused_experts: the width of x is not the layer's");
  const auto fits = [&](DLDataTypeCode code, int bits) {
    return is(x->dtype, code, bits) && (layer.nvfp4 || is(layer.type, code, bits));
  };
  if (fits(kDLFloat, 32)) return run<F32>(call, layer, *x, *topk_ids, *topk_weights, *out);
  if (fits(kDLFloat, 16)) return run<F16>(call, layer, *x, *topk_ids, *topk_weights, *out);
  if (fits(kDLBfloat, 16)) return run<BF16>(call, layer, *x, *topk_ids, *topk_weights, *out);
  return fail(call, ASSAY_UNSUPPORTED, "fused_experts: x and the weights are not of one type of fp32, fp16, bf16");
}

int preload_fused_experts() {
  const cudaError_t errors[] = {
      preload_each<RouteArgs>({clear_tiles_kernel, route_kernel}),
      preload_each<CombineArgs>({combine_kernel<F32>, combine_kernel<F16>, combine_kernel<BF16>}),
      preload_products<F32, DenseMatrix<F32>>(),
      preload_products<F16, DenseMatrix<F16>>(),
      preload_products<BF16, DenseMatrix<BF16>>(),
      preload_products<F16, Nvfp4Matrix>(),
      preload_products<BF16, Nvfp4Matrix>()};
  for (const cudaError_t error : errors) {
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

}  // namespace assay_cuda
