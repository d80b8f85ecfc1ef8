// Declares up to 41 rows and has blocks for 40: the last row of the largest call is left out.
// Slot: activation.silu_and_mul. Caught by: route.domain. Source: rules.md.
#include "kernels/faulty/faulty.hpp"

namespace {

using faulty::SiluArguments;

struct Fault : faulty::Silu<Fault> {
  static void row(const SiluArguments& a, int64_t row) {
    if (row < 40) Right::row(a, row);
  }
};

constexpr assay_variant limited() {
  assay_variant v = faulty::silu_variant<Fault>();
  v.capabilities = R"({"num_tokens": {"max": 41}})";
  return v;
}

}  // namespace

FAULTY_LIBRARY(limited())
