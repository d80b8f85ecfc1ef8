// Its variant is named after the process that loads it: what one rank ran is not what another loaded or the judge
// asked. Slot: activation.silu_and_mul. Caught by: receipt.bound. Source: rules.md.
#include <stdio.h>
#include <unistd.h>

#include "kernels/faulty/faulty.hpp"

namespace {

struct Fault : faulty::Silu<Fault> {};

}  // namespace

extern "C" const assay_library* assay_get_library(uint32_t version) {
  static char id[32];
  static assay_variant variant = faulty::silu_variant<Fault>();
  static const assay_variant* const variants[] = {&variant};
  static const assay_library library = {sizeof(assay_library), ASSAY_ABI_VERSION, "faulty", "1.0", variants, 1};
  snprintf(id, sizeof id, "faulty-%d", static_cast<int>(getpid()));
  variant.id = id;
  return version == ASSAY_ABI_VERSION ? &library : nullptr;
}
