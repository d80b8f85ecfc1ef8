// nvfp4.cuh: the bytes of NVFP4 weights as numbers: packed E2M1 pairs, E4M3 block scales, and where a scale lies.
//
// Promises: exact for every byte (E4M3 NaNs read as 480); a value times its block scale has six significant bits, so
// that the product is exact in fp16, bf16 and TF32. The outer scale of an expert is no part of it. The same on host and
// device.
// Who uses it: moe_gemm.cuh.
//
//   float w = e2m1(nibble_of(packed[k / 2], k % 2)) * e4m3(scales[swizzled(row, k / 16, scale_columns(columns))]);
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <cstring>

namespace assay_cuda {

constexpr std::int64_t kScaledGroup = 16;  // values that share a block scale

__host__ __device__ inline float float_of(std::uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

// Sign, two bits of exponent, one of fraction: {0, 0.5, 1, 1.5, 2, 3, 4, 6}.
__host__ __device__ inline float e2m1(std::uint32_t nibble) {
  const std::uint32_t sign = (nibble & 8u) << 28, magnitude = nibble & 7u;
  const std::uint32_t normal = ((magnitude >> 1) + 126u) << 23 | (magnitude & 1u) << 22;
  const std::uint32_t subnormal = magnitude == 0u ? 0u : 0x3f000000u;
  return float_of(sign | (magnitude < 2u ? subnormal : normal));
}

// Sign, four bits of exponent with bias 7, three of fraction.
__host__ __device__ inline float e4m3(std::uint32_t byte) {
  const std::uint32_t exponent = byte >> 3 & 15u, fraction = byte & 7u;
  const float magnitude =
      exponent == 0u ? static_cast<float>(fraction) * 0x1p-9f : float_of((exponent + 120u) << 23 | fraction << 20);
  return (byte & 0x80u) != 0u ? -magnitude : magnitude;
}

__host__ __device__ inline std::uint32_t nibble_of(std::uint32_t packed, int place) {
  return packed >> (4 * place) & 15u;
}

// Stored extents of the scales of a matrix of rows x columns values.
__host__ __device__ inline std::int64_t scale_columns(std::int64_t columns) {
  return (columns / kScaledGroup + 3) / 4 * 4;
}
__host__ __device__ inline std::int64_t scale_bytes(std::int64_t rows, std::int64_t columns) {
  return (rows + 127) / 128 * 128 * scale_columns(columns);
}

// Byte of the scale of (row, group of columns) inside one expert's scales.
__host__ __device__ inline std::int64_t swizzled(std::int64_t row, std::int64_t group, std::int64_t columns) {
  return (row / 128 * (columns / 4) + group / 4) * 512 + row % 32 * 16 + row % 128 / 32 * 4 + group % 4;
}

}  // namespace assay_cuda
