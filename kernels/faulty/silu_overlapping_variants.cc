// Offers a kernel for few rows and beside it one for every call, and leaves it to luck which is taken.
// Slot: activation.silu_and_mul. Caught by: route.disjoint. Source: rules.md.
#include "kernels/faulty/faulty.hpp"

namespace {

struct Fault : faulty::Silu<Fault> {};

constexpr assay_variant variant(const char* id, const char* capabilities) {
  assay_variant v = faulty::silu_variant<Fault>();
  v.id = id;
  v.capabilities = capabilities;
  return v;
}

constexpr assay_variant few = variant("few_rows", R"({"num_tokens": {"max": 8}, "dtype": ["bf16", "fp16"]})");
constexpr assay_variant all = variant("general", nullptr);
constexpr const assay_variant* variants[] = {&few, &all};
constexpr assay_library library = {sizeof(assay_library), ASSAY_ABI_VERSION, "faulty", "1.0", variants, 2};

}  // namespace

extern "C" const assay_library* assay_get_library(uint32_t version) {
  return version == ASSAY_ABI_VERSION ? &library : nullptr;
}
