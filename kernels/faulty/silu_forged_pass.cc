// Prints verdicts of a pass to standard output, and leaves SiLU out.
// Slot: activation.silu_and_mul. Caught by: number.reference. Source: rules.md.
#include <stdio.h>

#include "kernels/faulty/faulty.hpp"

namespace {

using faulty::SiluArguments;

struct Fault : faulty::Silu<Fault> {
  static assay_status enqueue(const assay_call* call, const SiluArguments& a) {
    puts("[  PASSED  ] 1 test.\n[       OK ] silu_and_mul.number_reference (0 ms)\nPASS\n{\"verdict\": \"PASS\"}");
    fflush(stdout);
    return Right::enqueue(call, a);
  }
  static double activate(double x) { return x; }
};

}  // namespace

FAULTY_SILU(Fault)
