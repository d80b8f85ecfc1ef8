// Forgets 4 KiB with every call.
// Slot: norm.rmsnorm. Caught by: write.no_growth. Source: rules.md.
#include <stdlib.h>

#include "kernels/faulty/faulty.hpp"

namespace {

using faulty::NormArguments;

struct Fault : faulty::Norm<Fault> {
  static assay_status enqueue(const assay_call* call, const NormArguments& a) {
    static void* volatile latest = nullptr;
    latest = malloc(4096);
    return latest ? Right::enqueue(call, a) : ASSAY_ERROR;
  }
};

}  // namespace

FAULTY_NORM(Fault)
