#include "reference/fused_experts_reduce.hpp"

#include <stdexcept>
#include <utility>

#include "reference/fused_experts.hpp"

namespace {

void add(const assay::Tensor& to, const assay::Tensor& terms) {
  const auto sum = to.values<double>(), more = terms.values<double>();
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += more[i];
}

}  // namespace

void assay_reference_fused_experts_reduce(const assay::ReferenceCall& call, assay::ReferenceResult& result) {
  if (call.ranks.empty()) throw std::invalid_argument("fused_experts_reduce: no rank has weights");
  for (const auto& own : call.ranks) {
    assay::ReferenceCall local = call;
    local.ranks.clear();
    for (const auto& [name, view] : own) local.inputs[name] = view;
    assay::ReferenceResult part;
    assay_reference_fused_experts(local, part);
    if (result.outputs.empty()) {
      result = std::move(part);
      continue;
    }
    add(result.outputs.front().expected, part.outputs.front().expected);
    add(result.outputs.front().magnitude, part.outputs.front().magnitude);
  }
}
