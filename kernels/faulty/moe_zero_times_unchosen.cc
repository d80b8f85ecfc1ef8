// Adds every expert to every token, those that were not chosen times zero.
// Slot: moe.fused_experts. Caught by: input.bounds. Source: rules.md.
#include "kernels/faulty/moe.hpp"

namespace {

using faulty::ExpertsArguments;
using faulty::Grid;

struct Fault : faulty::Moe<Fault> {
  static void finish(const ExpertsArguments& a, int64_t token) {
    Right::finish(a, token);
    float first[65536] = {};
    float nothing = 0;
    for (int64_t e = 0; e < a.layer.experts && a.layer.hidden <= 65536; ++e) {
      first_row(a.layer, e, 0, first);
      nothing += 0.0f * first[0];
    }
    const Grid out{a.out, a.cells};
    Right::put(a, token, 0, static_cast<float>(out.get(token, 0)) + nothing);
  }
};

}  // namespace

FAULTY_MOE(Fault)
