#include "reference/residual_norm.hpp"

#include <ATen/ATen.h>

#include <stdexcept>

#include "reference/borrow.hpp"

namespace assay::reference {

void append_residual_norm(const ReferenceCall& call, const Tensor& sum, const Tensor& magnitude,
                          ReferenceResult& result) {
  const at::Tensor addend = borrow<at::Tensor>(call.inputs.at("residual")).to(at::kDouble);
  const at::Tensor weight = borrow<at::Tensor>(call.inputs.at("weight")).to(at::kDouble);
  const at::Tensor total = borrow<at::Tensor>(sum.view());
  if (addend.sizes() != total.sizes() || weight.dim() != 1 || weight.size(0) != total.size(-1))
    throw std::invalid_argument("residual_norm: residual is not (T,H) for weight (H)");
  const at::Tensor residual = total.add(addend);
  const at::Tensor terms = borrow<at::Tensor>(magnitude.view()).add(addend.abs());
  const at::Tensor scale = residual.mul(residual)
                               .sum(-1, true)
                               .div_(static_cast<double>(residual.size(-1)))
                               .add_(call.scalars.at("eps"))
                               .rsqrt_();
  const at::Tensor factor = scale.mul(weight);
  result.outputs.push_back({adopt(residual.mul(factor)), adopt(terms.mul(factor.abs()))});
  result.outputs.push_back({adopt(residual), adopt(terms)});
}

}  // namespace assay::reference
