// values.cuh: what the tensors of a call hold, as functions of a salt, so that every rank can tell every rank's cells.
//
// Promises: the same bits on the host and on the device. Values are rounded to the tensor's type, one cell in 16 is -0,
// sums depend on their order. Parts and sums are what the contract says, written without any of the kernels' code.
// Who uses it: calls.cu, which fills and checks.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cmath>
#include <cstdint>

namespace stress {

enum class Op : int { all_reduce, norm, finalise };
enum class Type : int { bf16, fp16, fp32 };
constexpr int kOps = 3, kTypes = 3;
constexpr float kEps = 1e-6f;

// Dimensions of a call, equal on all ranks.
struct Shape {
  Op op;
  Type type;
  int rows, columns;
  int tokens, places;                 // of finalise: T_exp, K
  std::uint32_t map_factor, map_add;  // entry i of the row map is (i * factor + add) mod (tokens * places)
};

enum Tensor : std::uint32_t { kPart, kResidual, kWeight, kScale };
constexpr int kReplicated = 255;  // the rank of what all ranks have alike

__host__ __device__ inline int bytes_of(Type type) { return type == Type::fp32 ? 4 : 2; }

__host__ __device__ inline float rounded(Type type, float value) {
  if (type == Type::bf16) return __bfloat162float(__float2bfloat16_rn(value));
  if (type == Type::fp16) return __half2float(__float2half_rn(value));
  return value;
}

__host__ __device__ inline std::uint64_t mixed(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

// In [0, 1), from the cell's place alone.
__host__ __device__ inline float uniform(std::uint64_t salt, Tensor tensor, int rank, std::int64_t cell) {
  const std::uint64_t key = mixed(salt * 0x9e3779b97f4a7c15ull + tensor * 256u + static_cast<std::uint64_t>(rank));
  return static_cast<float>(mixed(key + static_cast<std::uint64_t>(cell)) >> 40) * 0x1p-24f;
}

__host__ __device__ inline float signed_cell(const Shape& s, std::uint64_t salt, Tensor tensor, int rank,
                                             std::int64_t cell) {
  const float u = uniform(salt, tensor, rank, cell);
  return u < 0.0625f ? -0.0f : rounded(s.type, 2.0f * u - 1.0f);
}
__host__ __device__ inline float weight_cell(const Shape& s, std::uint64_t salt, int column) {
  return rounded(s.type, 0.75f + 0.5f * uniform(salt, kWeight, kReplicated, column));
}
__host__ __device__ inline float scale_cell(const Shape& s, std::uint64_t salt, int token, int place) {
  return (uniform(salt, kScale, kReplicated, token * s.places + place) + 0.1f) / static_cast<float>(s.places);
}
__host__ __device__ inline std::int64_t map_entry(const Shape& s, std::int64_t i) {
  return (i * s.map_factor + s.map_add) % (std::int64_t{s.tokens} * s.places);
}

// One rank's part of a cell of the sum.
__host__ __device__ inline float part_cell(const Shape& s, std::uint64_t salt, int rank, int row, int column) {
  if (s.op != Op::finalise) return signed_cell(s, salt, kPart, rank, std::int64_t{row} * s.columns + column);
  float sum = 0.0f;
  for (int k = 0; k < s.places; ++k)
    sum = fmaf(scale_cell(s, salt, row, k),
               signed_cell(s, salt, kPart, rank, map_entry(s, row + std::int64_t{k} * s.tokens) * s.columns + column),
               sum);
  return sum;
}

// The sum over ranks in their order, and the residual where there is one: unrounded.
__host__ __device__ inline float summed_cell(const Shape& s, std::uint64_t salt, int world, int row, int column) {
  float sum = part_cell(s, salt, 0, row, column);
  for (int rank = 1; rank < world; ++rank) sum += part_cell(s, salt, rank, row, column);
  if (s.op == Op::all_reduce) return sum;
  return sum + signed_cell(s, salt, kResidual, kReplicated, std::int64_t{row} * s.columns + column);
}

}  // namespace stress
