// Returns ASSAY_UNSUPPORTED where there are more rows than keys, without a capability that says so.
// Slot: attention.sdpa. Caught by: write.no_return. Source: rules.md.
#include "kernels/faulty/sdpa.hpp"

namespace {

using faulty::SdpaArguments;

struct Fault : faulty::Sdpa<Fault> {
  static assay_status enqueue(const assay_call* call, const SdpaArguments& a) {
    if (a.rows > a.keys) return faulty::fail(call, ASSAY_UNSUPPORTED, "more rows than keys");
    return Right::enqueue(call, a);
  }
};

}  // namespace

FAULTY_SDPA(Fault)
