// Returns ASSAY_OK and launches nothing.
// Slot: norm.rmsnorm. Caught by: write.every_cell. Source: slots.md 14.
#include "kernels/faulty/faulty.hpp"

namespace {

using faulty::NormArguments;

struct Fault : faulty::Norm<Fault> {
  static assay_status enqueue(const assay_call*, const NormArguments&) { return ASSAY_OK; }
};

}  // namespace

FAULTY_NORM(Fault)
