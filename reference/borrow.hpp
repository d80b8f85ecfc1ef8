// reference/borrow.hpp: between our tensors and libtorch's, without naming libtorch.
//
// Promises: borrow is a view of the same memory with the same strides, on the same device; adopt keeps a result alive
// for as long as our Tensor lives. Both are instantiated for at::Tensor only, in borrow.cc, so that this header and all
// others stay free of libtorch. A result need not be complete on the device before the caller's next synchronising
// copy; ATen works on the legacy default stream.
// Who calls it: reference/*.cc.
//
//   const auto x = borrow<at::Tensor>(call.inputs.at("x"));
//   result.outputs.push_back({adopt(expected), adopt(expected.abs())});
#pragma once

#include "assay/tensor.hpp"

namespace assay::reference {

template <class LibtorchTensor>
[[nodiscard]] LibtorchTensor borrow(const TensorView&);

// Of a float64 tensor; made contiguous where it is not.
template <class LibtorchTensor>
[[nodiscard]] Tensor adopt(const LibtorchTensor&);

}  // namespace assay::reference
