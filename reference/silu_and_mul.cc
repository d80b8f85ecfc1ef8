#include "reference/silu_and_mul.hpp"

#include <ATen/ATen.h>

#include <stdexcept>

#include "reference/borrow.hpp"

void assay_reference_silu_and_mul(const assay::ReferenceCall& call, assay::ReferenceResult& result) {
  using namespace assay::reference;
  const c10::InferenceMode no_autograd;
  const at::Tensor x = borrow<at::Tensor>(call.inputs.at("x"));
  if (x.dim() == 0 || x.size(-1) % 2 != 0) throw std::invalid_argument("silu_and_mul: the last extent of x is even");
  const std::int64_t d = x.size(-1) / 2;
  at::Tensor out = x.narrow(-1, 0, d).to(at::kDouble, false, true);
  // exp(1000) is infinite in float64, so every gate below has the limit -0; without the clamp -inf would give NaN.
  out.clamp_min_(-1000.0);
  at::silu_(out);
  out.mul_(x.narrow(-1, d, d));
  result.outputs.push_back({adopt(out), adopt(out.abs())});
}
