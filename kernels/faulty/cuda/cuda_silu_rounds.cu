// In 16-bit types SiLU is rounded to the type before it is multiplied: a second rounding that hides inside the slot's
// tolerance.
// Slot: activation.silu_and_mul. Caught by: number.bound. Source: FAULT-028.
#include "faulty.cuh"

static __global__ void twice_rounded_silu_kernel(faulty::Silu a) {
  for (std::int64_t row = blockIdx.x; row < a.out.rows; row += gridDim.x) {
    for (std::int64_t c = threadIdx.x; c < a.out.columns; c += blockDim.x) {
      float gate = faulty::silu(a.x.cell(row, c));
      if (a.x.type.code == kDLBfloat) {
        gate = __bfloat162float(__float2bfloat16_rn(gate));
      } else if (a.x.type.bits == 16) {
        gate = __half2float(__float2half_rn(gate));
      }
      a.out.set(row, c, gate * a.x.cell(row, c + a.out.columns));
    }
  }
}

static assay_status entry(const assay_call* call, assay_in x, assay_out out) {
  const faulty::Silu a = faulty::silu_args(x, out);
  if (a.out.rows > 0) twice_rounded_silu_kernel<<<faulty::blocks(a.out), faulty::kThreads, 0, call->cuda_stream>>>(a);
  return faulty::launched(call);
}

FAULTY_SILU(entry, twice_rounded_silu_kernel)
