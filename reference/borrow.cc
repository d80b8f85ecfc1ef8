#include "reference/borrow.hpp"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <memory>
#include <stdexcept>

// Where libtorch's matrix products are OpenBLAS's, whose threads at::set_num_threads does not know.
extern "C" __attribute__((weak)) void openblas_set_num_threads(int);

namespace assay::reference {
namespace {

// The judge has as many processes as cores, and a small case is done before a second thread is awake.
[[maybe_unused]] const bool one_thread = [] {
  at::set_num_threads(1);
  if (openblas_set_num_threads != nullptr) openblas_set_num_threads(1);
  return true;
}();

at::ScalarType scalar_type(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return at::kFloat;
    case DType::f16:
      return at::kHalf;
    case DType::bf16:
      return at::kBFloat16;
    case DType::f64:
      return at::kDouble;
    case DType::i32:
      return at::kInt;
    case DType::i64:
      return at::kLong;
    case DType::u8:
      return at::kByte;
  }
  throw std::invalid_argument("unknown dtype");
}

at::Device device_of(const TensorView& view) {
  if (view.device == DeviceType::host) return at::Device(at::kCPU);
  return at::Device(at::kCUDA, static_cast<at::DeviceIndex>(view.ordinal));
}

}  // namespace

template <class LibtorchTensor>
LibtorchTensor borrow(const TensorView& view) {
  const at::Device device = device_of(view);
  // The target device spares a query of the driver, which does not know every kind of mapped memory.
  return at::for_blob(view.data, view.shape)
      .strides(view.strides)
      .target_device(device)
      .options(at::TensorOptions().dtype(scalar_type(view.dtype)).device(device))
      .make_tensor();
}

template <class LibtorchDevice>
LibtorchDevice compute_device(double work) {
  constexpr double kWorthCopies = 5e7;
  if (work < kWorthCopies || !at::hasCUDA()) return at::Device(at::kCPU);
  return at::Device(at::kCUDA, 0);
}

template <class LibtorchTensor, class LibtorchDevice>
LibtorchTensor widened(const LibtorchTensor& tensor, const LibtorchDevice& device) {
  return tensor.to(device).to(at::kDouble);
}

template <class LibtorchTensor>
Tensor adopt(const LibtorchTensor& tensor) {
  if (tensor.scalar_type() != at::kDouble) throw std::logic_error("a reference returns float64");
  auto kept = std::make_shared<LibtorchTensor>(tensor.to(at::kCPU).contiguous());
  // An empty result has no memory; a Tensor without an address would count as undefined.
  void* data = kept->numel() == 0 ? static_cast<void*>(kept.get()) : kept->data_ptr();
  return Tensor(Extents(kept->sizes().begin(), kept->sizes().end()), DType::f64, std::shared_ptr<void>(kept, data),
                DeviceType::host, 0);
}

template at::Device compute_device<at::Device>(double);
template at::Tensor borrow<at::Tensor>(const TensorView&);
template at::Tensor widened<at::Tensor, at::Device>(const at::Tensor&, const at::Device&);
template Tensor adopt<at::Tensor>(const at::Tensor&);

}  // namespace assay::reference
