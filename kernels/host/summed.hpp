// summed.hpp: the group's own all-reduce over plain float scratch.
//
// Promises: ordered on the call's stream, may be captured; `from` and `to` do not overlap.
// Who uses it: the kernels that reduce partials of their own making.
#pragma once

#include "assay/abi.h"

namespace host_kernels {

inline assay_status sum_over_group(const assay_call* call, float* from, float* to, int64_t rows, int64_t columns) {
  int64_t shape[2] = {rows, columns}, strides[2] = {columns, 1};
  DLTensor in{};
  in.data = from;
  in.device = call->device;
  in.ndim = 2;
  in.dtype = {kDLFloat, 32, 1};
  in.shape = shape;
  in.strides = strides;
  DLTensor out = in;
  out.data = to;
  return call->group->api->all_reduce_sum(call->group, call->host_stream, &in, &out);
}

}  // namespace host_kernels
