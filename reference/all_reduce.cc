#include "reference/all_reduce.hpp"

#include <ATen/ATen.h>

#include <stdexcept>

#include "reference/borrow.hpp"

void assay_reference_all_reduce(const assay::ReferenceCall& call, assay::ReferenceResult& result) {
  using namespace assay::reference;
  const c10::InferenceMode no_autograd;
  if (call.ranks.empty()) throw std::invalid_argument("all_reduce: no rank has an x");
  const assay::TensorView& first = call.ranks.front().at("x");
  const auto on =
      compute_device<at::Device>(static_cast<double>(call.ranks.size()) * static_cast<double>(first.size()));
  at::Tensor sum, magnitude;
  for (const auto& inputs : call.ranks) {
    const at::Tensor x = borrow<at::Tensor>(inputs.at("x")).to(on, at::kDouble, false, true);
    if (!sum.defined()) {
      magnitude = x.abs();
      sum = x;
    } else {
      sum.add_(x);
      magnitude.add_(x.abs());
    }
  }
  result.outputs.push_back({adopt(sum), adopt(magnitude)});
}
