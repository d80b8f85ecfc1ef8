// faulty.cuh: the right parts of wrong kernels. Each fault takes what it does not break from here.
//
// Promises: naive and right for fp32, fp16 and bf16, any rank, any leading strides, zero rows, 64-bit offsets; kernels
// use one dtype switch a cell, since speed is no subject here. Contains no fault.
// Who uses it: the files beside it, one fault a file, each a library of its own.
//
//   static assay_status entry(const assay_call* call, assay_in x, assay_out out) {
//     const faulty::Silu args = faulty::silu_args(x, out);
//     if (args.out.rows > 0) faulty::silu_kernel<<<faulty::blocks(args.out), 256, 0, call->cuda_stream>>>(args);
//     return faulty::launched(call);
//   }
//   FAULTY_SILU(entry, faulty::silu_kernel)
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>

#include "assay/abi.h"

namespace faulty {

constexpr int kThreads = 256;
constexpr int kMaxLeading = 8;

// A tensor as rows of its last extent, by value.
struct Rows {
  char* data;
  DLDataType type;
  std::int64_t rows, columns;
  std::int64_t column_step;  // elements
  int leading;
  std::int64_t extent[kMaxLeading], stride[kMaxLeading];  // innermost first; strides in elements

  __device__ std::int64_t start(std::int64_t row) const {
    std::int64_t offset = 0;
    for (int i = 0; i < leading; ++i) {
      offset += row % extent[i] * stride[i];
      row /= extent[i];
    }
    return offset;
  }
  __device__ float get(std::int64_t element) const {
    if (type.bits == 32) return reinterpret_cast<const float*>(data)[element];
    if (type.code == kDLFloat) return __half2float(reinterpret_cast<const __half*>(data)[element]);
    return __bfloat162float(reinterpret_cast<const __nv_bfloat16*>(data)[element]);
  }
  __device__ void put(std::int64_t element, float value) const {
    if (type.bits == 32) {
      reinterpret_cast<float*>(data)[element] = value;
    } else if (type.code == kDLFloat) {
      reinterpret_cast<__half*>(data)[element] = __float2half_rn(value);
    } else {
      reinterpret_cast<__nv_bfloat16*>(data)[element] = __float2bfloat16_rn(value);
    }
  }
  __device__ float cell(std::int64_t row, std::int64_t column) const { return get(start(row) + column * column_step); }
  __device__ void set(std::int64_t row, std::int64_t column, float value) const {
    put(start(row) + column * column_step, value);
  }
};

inline Rows rows_of(const DLTensor& t) {
  Rows r{};
  r.data = static_cast<char*>(t.data);
  r.type = t.dtype;
  r.columns = t.shape[t.ndim - 1];
  r.column_step = r.columns > 1 ? t.strides[t.ndim - 1] : 1;
  r.rows = 1;
  for (int i = t.ndim - 2; i >= 0; --i) {
    r.rows *= t.shape[i];
    if (t.shape[i] == 1 || r.leading == kMaxLeading) continue;
    r.extent[r.leading] = t.shape[i];
    r.stride[r.leading] = t.strides[i];
    ++r.leading;
  }
  return r;
}

inline unsigned blocks(const Rows& r) { return static_cast<unsigned>(r.rows < 65535 ? r.rows : 65535); }

struct Silu {
  Rows x, out;
};
inline Silu silu_args(assay_in x, assay_out out) { return {rows_of(*x), rows_of(*out)}; }

// Of -|gate|, since the exponential of a gate below -88.7 would overflow where silu is still a normal number.
__device__ inline float silu(float gate) {
  const float e = expf(-fabsf(gate));
  return (gate < 0.0f ? gate * e : gate) / (1.0f + e);
}
__device__ inline float silu_cell(const Silu& a, std::int64_t row, std::int64_t column) {
  return silu(a.x.cell(row, column)) * a.x.cell(row, column + a.out.columns);
}
__global__ void silu_kernel(Silu a) {
  for (std::int64_t row = blockIdx.x; row < a.out.rows; row += gridDim.x) {
    for (std::int64_t c = threadIdx.x; c < a.out.columns; c += blockDim.x) a.out.set(row, c, silu_cell(a, row, c));
  }
}

struct Rmsnorm {
  Rows x, weight, out;
  float eps;
};
inline Rmsnorm rmsnorm_args(assay_in x, assay_in weight, assay_out out, double eps) {
  return {rows_of(*x), rows_of(*weight), rows_of(*out), static_cast<float>(eps)};
}

// Sum over the kThreads threads of a block, in a fixed order; every thread gets it.
__device__ inline float block_sum(float value) {
  __shared__ float partial[kThreads];
  partial[threadIdx.x] = value;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (static_cast<int>(threadIdx.x) < half) partial[threadIdx.x] += partial[threadIdx.x + half];
    __syncthreads();
  }
  const float sum = partial[0];
  __syncthreads();
  return sum;
}
__device__ inline float scale_of(float sum, std::int64_t columns, float eps) {
  return 1.0f / sqrtf(sum / static_cast<float>(columns) + eps);
}
// (mean(x^2) + eps)^-1/2 of one row, by a block of kThreads threads.
__device__ inline float row_scale(const Rmsnorm& a, std::int64_t row) {
  float sum = 0.0f;
  for (std::int64_t c = threadIdx.x; c < a.x.columns; c += kThreads) {
    const float f = a.x.cell(row, c);
    sum = fmaf(f, f, sum);
  }
  return scale_of(block_sum(sum), a.x.columns, a.eps);
}
__device__ inline void store_row(const Rmsnorm& a, std::int64_t row, float scale) {
  for (std::int64_t c = threadIdx.x; c < a.out.columns; c += kThreads)
    a.out.set(row, c, a.x.cell(row, c) * scale * a.weight.cell(0, c));
}
__global__ void rmsnorm_kernel(Rmsnorm a) {
  for (std::int64_t row = blockIdx.x; row < a.out.rows; row += gridDim.x) store_row(a, row, row_scale(a, row));
}

// Scales of all rows into memory, and rows from such scales: rmsnorm in two kernels.
__global__ void scales_kernel(Rmsnorm a, float* scales) {
  for (std::int64_t row = blockIdx.x; row < a.out.rows; row += gridDim.x) {
    const float scale = row_scale(a, row);
    if (threadIdx.x == 0) scales[row] = scale;
  }
}
__global__ void apply_kernel(Rmsnorm a, const float* scales) {
  for (std::int64_t row = blockIdx.x; row < a.out.rows; row += gridDim.x) store_row(a, row, scales[row]);
}

// Keeps one thread busy, for faults whose race has to be lost.
__global__ void delay_kernel(unsigned microseconds) {
  for (unsigned i = 0; i < microseconds; ++i) __nanosleep(1000);
}

inline assay_status check(const assay_call* call, cudaError_t error) {
  if (error == cudaSuccess) return ASSAY_OK;
  if (call->error != nullptr && call->error_bytes != 0)
    std::snprintf(call->error, call->error_bytes, "%s", cudaGetErrorString(error));
  return ASSAY_ERROR;
}
inline assay_status launched(const assay_call* call) { return check(call, cudaGetLastError()); }

inline assay_status run_silu(const assay_call* call, const Silu& a) {
  if (a.out.rows > 0) silu_kernel<<<blocks(a.out), kThreads, 0, call->cuda_stream>>>(a);
  return launched(call);
}
inline assay_status run_rmsnorm(const assay_call* call, const Rmsnorm& a) {
  if (a.out.rows > 0) rmsnorm_kernel<<<blocks(a.out), kThreads, 0, call->cuda_stream>>>(a);
  return launched(call);
}

inline bool capturing(const assay_call* call) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  return cudaStreamIsCapturing(call->cuda_stream, &status) == cudaSuccess && status == cudaStreamCaptureStatusActive;
}

// Calls that capture forbids are legal on this thread while one of these lives.
class RelaxedCapture {
 public:
  RelaxedCapture() { cudaThreadExchangeStreamCaptureMode(&mode_); }
  ~RelaxedCapture() { cudaThreadExchangeStreamCaptureMode(&mode_); }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

// A stream of the library's own, made at the first use.
inline cudaStream_t side_stream() {
  static const cudaStream_t stream = [] {
    cudaStream_t made = nullptr;
    cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking);
    return made;
  }();
  return stream;
}

// Loads kernels before the first call: a lazy load at the first launch may wait for the device.
template <class... Kernels>
assay_status preload(const assay_call* call, void** state, Kernels... kernels) {
  *state = nullptr;
  cudaFuncAttributes attributes;
  cudaError_t error = cudaSuccess;
  ((error = error == cudaSuccess ? cudaFuncGetAttributes(&attributes, kernels) : error), ...);
  return check(call, error);
}

constexpr assay_variant variant_of(const char* slot, std::uint32_t flags, assay_entry entry,
                                   decltype(assay_variant::init) init) {
  assay_variant v{};
  v.size = sizeof v;
  v.flags = flags;
  v.device_type = kDLCUDA;
  v.slot = slot;
  v.id = "faulty";
  v.entry = entry;
  v.init = init;
  return v;
}

}  // namespace faulty

// The exported table: one variant, its entry and the kernels that it launches. The SERIAL forms are for libraries that
// keep scratch of their own, so that stream.concurrent is not what they fail.
#define FAULTY_LIBRARY(member, slot_name, flags, function, ...)                                                        \
  static assay_status init(const assay_call* call, void** state) { return faulty::preload(call, state, __VA_ARGS__); } \
  const assay_library* assay_get_library(uint32_t harness_abi_version) {                                               \
    static const assay_variant variant = faulty::variant_of(slot_name, flags, {.member = function}, init);             \
    static const assay_variant* const variants[] = {&variant};                                                         \
    static const assay_library library = {sizeof library, ASSAY_ABI_VERSION, "faulty", "1.0", variants, 1};            \
    return harness_abi_version == ASSAY_ABI_VERSION ? &library : nullptr;                                              \
  }
#define FAULTY_SILU(function, ...) \
  FAULTY_LIBRARY(silu_and_mul, "activation.silu_and_mul", ASSAY_GRAPH_SAFE | ASSAY_DETERMINISTIC, function, __VA_ARGS__)
#define FAULTY_RMSNORM(function, ...) \
  FAULTY_LIBRARY(rmsnorm, "norm.rmsnorm", ASSAY_GRAPH_SAFE | ASSAY_DETERMINISTIC, function, __VA_ARGS__)
#define FAULTY_SERIAL_SILU(function, ...)                                                                        \
  FAULTY_LIBRARY(silu_and_mul, "activation.silu_and_mul", ASSAY_GRAPH_SAFE | ASSAY_DETERMINISTIC | ASSAY_SERIAL, \
                 function, __VA_ARGS__)
#define FAULTY_SERIAL_RMSNORM(function, ...) \
  FAULTY_LIBRARY(rmsnorm, "norm.rmsnorm", ASSAY_GRAPH_SAFE | ASSAY_DETERMINISTIC | ASSAY_SERIAL, function, __VA_ARGS__)
