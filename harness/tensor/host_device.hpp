// harness/tensor/host_device.hpp: marks functions that nvcc compiles for the GPU as well.
//
// Promises: with a host compiler ASSAY_HD is nothing. Functions so marked use integers, IEEE float products and
// memcpy only, so that both sides give the same bits.
// Who includes it: the headers of harness/tensor that a CUDA unit includes too.
#pragma once

#ifdef __CUDACC__
#define ASSAY_HD __host__ __device__
#else
#define ASSAY_HD
#endif
