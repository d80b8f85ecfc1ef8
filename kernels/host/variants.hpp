// variants.hpp: the variants of libassay_host_kernels.so, one a slot.
//
// Promises: each is right on the slot's whole domain, graph-safe and deterministic.
// Who uses it: library.cc, which lists them, and the slot files, which define them.
//
//   static const assay_variant* const variants[] = {&host_kernels::silu_and_mul, &host_kernels::rmsnorm};
#pragma once

#include "assay/abi.h"

namespace host_kernels {

extern const assay_variant silu_and_mul;
extern const assay_variant rmsnorm;

}  // namespace host_kernels
