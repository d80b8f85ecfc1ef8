#include "reference/rmsnorm.hpp"

#include <ATen/ATen.h>

#include <stdexcept>

#include "reference/borrow.hpp"

void assay_reference_rmsnorm(const assay::ReferenceCall& call, assay::ReferenceResult& result) {
  using namespace assay::reference;
  const c10::InferenceMode no_autograd;
  const at::Tensor x = borrow<at::Tensor>(call.inputs.at("x"));
  const at::Tensor weight = borrow<at::Tensor>(call.inputs.at("weight"));
  if (x.dim() == 0 || weight.dim() != 1 || weight.size(0) != x.size(-1))
    throw std::invalid_argument("rmsnorm: weight has the last extent of x");
  at::Tensor out = x.to(at::kDouble, false, true);
  at::Tensor scale = out.mul(out).sum(-1, true);
  scale.div_(static_cast<double>(x.size(-1))).add_(call.scalars.at("eps")).rsqrt_();
  out.mul_(scale).mul_(weight);
  result.outputs.push_back({adopt(out), adopt(out.abs())});
}
