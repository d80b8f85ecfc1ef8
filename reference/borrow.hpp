// reference/borrow.hpp: between our tensors and libtorch's, without naming libtorch.
//
// Promises: borrow is a view of the same memory with the same strides, on the same device; adopt keeps a result alive
// for as long as our Tensor lives. All are instantiated for libtorch's types only, in borrow.cc, so that this header and all
// others stay free of libtorch. A result need not be complete on the device before the caller's next synchronising
// copy; ATen works on the legacy default stream.
// Who calls it: reference/*.cc.
//
//   const auto on = compute_device<at::Device>(2.0 * rows * width);
//   const at::Tensor x = widened(borrow<at::Tensor>(call.inputs.at("x")), on);
//   result.outputs.push_back({adopt(expected), adopt(expected.abs())});  // copied to the host where it is not there
#pragma once

#include "assay/tensor.hpp"

namespace assay::reference {

// Where to compute so many multiply-adds: a GPU where libtorch has one and the work is worth the copies, else the CPU.
// Ordinal 0; the judge's own context, apart from every worker's.
template <class LibtorchDevice>
[[nodiscard]] LibtorchDevice compute_device(double work);

template <class LibtorchTensor>
[[nodiscard]] LibtorchTensor borrow(const TensorView&);

// In float64 on `device`, and converted there: libtorch's own to(device, dtype) converts on the CPU before it copies.
template <class LibtorchTensor, class LibtorchDevice>
[[nodiscard]] LibtorchTensor widened(const LibtorchTensor&, const LibtorchDevice& device);

// Of a float64 tensor; made contiguous where it is not.
template <class LibtorchTensor>
[[nodiscard]] Tensor adopt(const LibtorchTensor&);

}  // namespace assay::reference
