// entries.hpp: the entries of this library, one pair a slot: the kernel's entry and the loading of its code.
//
// Promises: entries enqueue on the call's stream and return; they neither allocate nor wait. preload_* return a
// cudaError_t as int, 0 when all kernels of the slot are on the current device.
// Who uses it: library.cc, which lists them; the .cu file of each slot, which defines them.
#pragma once

#include "assay/abi.h"

namespace assay_cuda {

assay_status silu_and_mul(const assay_call* call, assay_in x, assay_out out);
int preload_silu_and_mul();

assay_status rmsnorm(const assay_call* call, assay_in x, assay_in weight, assay_out out, double eps);
int preload_rmsnorm();

}  // namespace assay_cuda
