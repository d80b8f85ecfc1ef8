// rows.cuh: what the row-wise kernels of this folder share: a tensor seen as rows, 16-byte groups of elements, and
// launching with a status.
//
// Promises: any rank >= 1; any leading strides; row starts in 64-bit arithmetic; launches go to the call's stream,
// which must belong to the calling thread's current device. Does not validate a call beyond what it cannot express.
// Who uses it: the .cu files beside it.
//
//   Rows x;
//   if (!rows_of(*tensor, &x)) return unsupported(call, "rank");
//   return launch(call, kernel<BF16>, grid, block, Args{x, ...});
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstring>

#include "assay/abi.h"

namespace assay_cuda {

// Leading dimensions that are left after extents of 1 are dropped and adjacent ones are merged.
constexpr int kMaxLeading = 16;

// A tensor as rows of its last extent. Passed to kernels by value: a DLTensor dies when the entry returns.
struct Rows {
  char* data;
  std::int64_t rows, columns;
  std::int64_t column_step;  // elements; 1 except for a strided rank-1 tensor
  int leading;
  std::int64_t extent[kMaxLeading], stride[kMaxLeading];  // innermost first; strides in elements

  // Elements from the tensor's first cell to the row's first cell.
  __device__ std::int64_t start(std::int64_t row) const {
    if (leading == 1) return row * stride[0];
    std::int64_t offset = 0;
    for (int i = 0; i < leading; ++i) {
      offset += row % extent[i] * stride[i];
      row /= extent[i];
    }
    return offset;
  }
};

inline bool rows_of(const DLTensor& t, Rows* out) {
  out->data = static_cast<char*>(t.data);
  out->columns = t.shape[t.ndim - 1];
  out->column_step = out->columns > 1 ? t.strides[t.ndim - 1] : 1;
  out->rows = 1;
  out->leading = 0;
  for (int i = t.ndim - 2; i >= 0; --i) {
    out->rows *= t.shape[i];
    if (t.shape[i] == 1) continue;
    const int last = out->leading - 1;
    if (last >= 0 && t.strides[i] == out->extent[last] * out->stride[last]) {
      out->extent[last] *= t.shape[i];
      continue;
    }
    if (out->leading == kMaxLeading) return false;
    out->extent[out->leading] = t.shape[i];
    out->stride[out->leading] = t.strides[i];
    ++out->leading;
  }
  return true;
}

// True when every row starts on a 16-byte boundary and its cells are adjacent.
inline bool rows_aligned(const Rows& r, std::int64_t element_bytes) {
  bool aligned = r.column_step == 1 && reinterpret_cast<std::uintptr_t>(r.data) % 16 == 0;
  for (int i = 0; i < r.leading; ++i) aligned = aligned && r.stride[i] * element_bytes % 16 == 0;
  return aligned;
}

struct F32 {
  using Cell = float;
  static __device__ float widen(Cell c) { return c; }
  static __device__ Cell narrow(float f) { return f; }
};
struct F16 {
  using Cell = __half;
  static __device__ float widen(Cell c) { return __half2float(c); }
  static __device__ Cell narrow(float f) { return __float2half_rn(f); }
};
struct BF16 {
  using Cell = __nv_bfloat16;
  static __device__ float widen(Cell c) { return __bfloat162float(c); }
  static __device__ Cell narrow(float f) { return __float2bfloat16_rn(f); }
};

// Elements in one 16-byte access.
template <class T>
constexpr int kGroup = 16 / static_cast<int>(sizeof(typename T::Cell));

// Both ways are marked evict-first: each cell is touched once, and weights and other work keep their place in L2.
template <class T>
__device__ void load_group(const typename T::Cell* from, typename T::Cell (&to)[kGroup<T>]) {
  const uint4 raw = __ldcs(reinterpret_cast<const uint4*>(from));
  memcpy(to, &raw, sizeof raw);
}

template <class T>
__device__ void store_group(typename T::Cell* to, const typename T::Cell (&from)[kGroup<T>]) {
  uint4 raw;
  memcpy(&raw, from, sizeof raw);
  __stcs(reinterpret_cast<uint4*>(to), raw);
}

inline assay_status fail(const assay_call* call, assay_status status, const char* text) {
  if (call->error != nullptr && call->error_bytes != 0) std::snprintf(call->error, call->error_bytes, "%s", text);
  return status;
}

template <class Args>
assay_status launch(const assay_call* call, void (*kernel)(Args), dim3 grid, dim3 block, const Args& args) {
  kernel<<<grid, block, 0, call->cuda_stream>>>(args);
  const cudaError_t error = cudaGetLastError();
  return error == cudaSuccess ? ASSAY_OK : fail(call, ASSAY_ERROR, cudaGetErrorString(error));
}

// Loads a kernel's code now. Lazy loading may otherwise synchronise with the device at a kernel's first launch, which
// never returns while the call's stream waits for something that the host does later.
template <class Args>
cudaError_t preload(void (*kernel)(Args)) {
  cudaFuncAttributes attributes;
  return cudaFuncGetAttributes(&attributes, kernel);
}

inline bool is(DLDataType type, DLDataTypeCode code, int bits) {
  return type.code == code && type.bits == bits && type.lanes == 1;
}

}  // namespace assay_cuda
