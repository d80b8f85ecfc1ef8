#include "reference/attention_sdpa.hpp"

#include <ATen/ATen.h>

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "reference/borrow.hpp"

void assay_reference_attention_sdpa(const assay::ReferenceCall& call, assay::ReferenceResult& result) {
  using namespace assay::reference;
  const c10::InferenceMode no_autograd;
  const at::Tensor q = borrow<at::Tensor>(call.inputs.at("q"));
  const at::Tensor k = borrow<at::Tensor>(call.inputs.at("k"));
  const at::Tensor v = borrow<at::Tensor>(call.inputs.at("v"));
  if (q.dim() != 3 || k.dim() != 3 || k.sizes() != v.sizes() || q.size(2) != k.size(2) || k.size(1) == 0 ||
      q.size(1) % k.size(1) != 0)
    throw std::invalid_argument("attention.sdpa: q is (T,Hq,D), k and v are (S,Hkv,D), Hkv divides Hq");
  const std::int64_t rows = q.size(0), keys = k.size(0), heads = q.size(1), kv = k.size(1), d = q.size(2);
  const std::int64_t group = heads / kv;
  const bool causal = call.scalars.at("causal") != 0.0;
  // Row t sees keys up to t + keys - rows: the first rows - keys rows of a causal call see none.
  const std::int64_t dead = keys == 0 ? rows : causal ? std::max<std::int64_t>(0, rows - keys) : 0;
  const std::int64_t live = rows - dead;
  const auto work = 2.0 * static_cast<double>(rows * keys) * static_cast<double>(heads * d);
  const auto device = compute_device<at::Device>(work);
  const at::TensorOptions options = at::TensorOptions().dtype(at::kDouble).device(device);
  at::Tensor out = at::zeros({rows, heads, d}, options), magnitude = at::zeros({rows, heads, d}, options);
  if (live > 0 && heads > 0 && d > 0) {
    const auto heads_first = [&](const at::Tensor& t) { return widened(t, device).transpose(0, 1); };
    const at::Tensor values = heads_first(v);
    const at::Tensor queries =
        widened(q.narrow(0, dead, live), device).reshape({live, kv, group, d}).transpose(0, 1).reshape({kv, -1, d});
    at::Tensor weights = queries.bmm(heads_first(k).transpose(1, 2)).mul_(call.scalars.at("sm_scale"));
    if (causal) {
      const double hidden = -std::numeric_limits<double>::infinity();
      const at::Tensor future = at::full({live, keys}, hidden, options).triu_(dead + keys - rows + 1);
      weights.view({kv, live, group, keys}).add_(future.unsqueeze(1));
    }
    weights = weights.softmax(-1);
    const auto put = [&](at::Tensor& to, const at::Tensor& sum) {
      to.narrow(0, dead, live).view({live, kv, group, d}).copy_(sum.view({kv, live, group, d}).transpose(0, 1));
    };
    put(out, weights.bmm(values));
    put(magnitude, weights.bmm(values.abs()));
  }
  result.outputs.push_back({adopt(out), adopt(magnitude)});
}
