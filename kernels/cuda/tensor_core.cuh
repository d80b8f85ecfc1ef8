// tensor_core.cuh: the few PTX instructions behind 16-bit matrix products: 16x8x16 products, 8x8 loads from shared
// memory, and copies to shared memory that run beside arithmetic.
//
// Promises: sm_80 and newer. All lanes of a warp call together; addresses are multiples of 16 bytes.
// Who uses it: attention.cu.
//
//   unsigned a[4], b[4];
//   load_matrices(a, &rows[lane % 16][lane / 16 * 8]);                  // 16 x 16, as the left factor
//   load_matrices(b, &keys[lane / 16 * 8 + lane % 8][lane / 8 % 2 * 8]);  // 16 keys x 16 columns
//   multiply_add<F16>(sum, a, b[0], b[1]);                              // the first 8 keys
#pragma once

#include <cstdint>

#include "rows.cuh"

namespace assay_cuda {

// sum (16x8, fp32) += a (16x16, rows) * b (16x8, columns), fragments as PTX lays them out for m16n8k16.
template <class T>
__device__ void multiply_add(float (&sum)[4], const unsigned (&a)[4], unsigned b0, unsigned b1);

template <>
__device__ inline void multiply_add<F16>(float (&sum)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

template <>
__device__ inline void multiply_add<BF16>(float (&sum)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Loads four 8x8 matrices of 16-bit cells; lanes 8i to 8i + 7 name the rows of matrix i.
__device__ inline void load_matrices(unsigned (&to)[4], const void* row) {
  const auto address = static_cast<unsigned>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address)
               : "memory");
}
__device__ inline void load_matrices_transposed(unsigned (&to)[4], const void* row) {
  const auto address = static_cast<unsigned>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address)
               : "memory");
}

// Starts a copy of 16 bytes to shared memory. A thread's copies form groups; wait_for_copies<n> returns when all of its
// groups but the latest n are there, for itself: other threads need a barrier behind it.
__device__ inline void start_copy(void* shared, const void* global) {
  const auto address = static_cast<unsigned>(__cvta_generic_to_shared(shared));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(global) : "memory");
}
__device__ inline void end_copy_group() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int kLatest>
__device__ void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kLatest) : "memory");
}

template <class T>
__device__ unsigned pack(float low, float high) {
  const typename T::Cell cells[2] = {T::narrow(low), T::narrow(high)};
  unsigned packed;
  memcpy(&packed, cells, sizeof packed);
  return packed;
}

}  // namespace assay_cuda
