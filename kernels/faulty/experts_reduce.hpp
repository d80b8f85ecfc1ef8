// experts_reduce.hpp: the right kernels of moe.fused_experts_reduce in a form in which one property can be broken.
//
// Promises: with nothing overridden FAULTY_REDUCE makes a library that is as right as kernels/host, from dense weights
// with SiLU, declared GRAPH_SAFE and DETERMINISTIC. The members are those of kernels/host/experts_reduce.hpp.
// Who uses it: kernels/faulty/reduce_*.cc.
//
//   struct Fault : faulty::Reduced<Fault> {
//     static float delivered(const faulty::ExpertsArguments& a, int64_t token, int64_t h) {
//       return partial(a)[token * a.layer.hidden + h];  // of this rank alone
//     }
//   };
//   FAULTY_REDUCE(Fault)
#pragma once

#include "kernels/faulty/moe.hpp"
#include "kernels/host/experts_reduce.hpp"

namespace faulty {

template <class Self>
struct Reduced : host_kernels::ReducedExperts<Self, host_kernels::Experts> {
  using Right = Reduced;
  static constexpr uint32_t flags = ASSAY_GRAPH_SAFE | ASSAY_DETERMINISTIC;
};

template <class Fault>
constexpr assay_variant reduce_variant() {
  assay_variant variant = host_kernels::with_weights<Fault>(variant_of("moe.fused_experts_reduce", Fault::flags));
  variant.entry.fused_experts_reduce = Fault::entry;
  return variant;
}

}  // namespace faulty

#define FAULTY_REDUCE(fault) FAULTY_LIBRARY(faulty::reduce_variant<fault>())
