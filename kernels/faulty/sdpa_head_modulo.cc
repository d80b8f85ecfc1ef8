// Maps query head h to key/value head h % Hkv.
// Slot: attention.sdpa. Caught by: number.reference. Source: slots.md 5.3.
#include "kernels/faulty/sdpa.hpp"

namespace {

using faulty::SdpaArguments;

struct Fault : faulty::Sdpa<Fault> {
  static int64_t kv_head(const SdpaArguments& a, int64_t head) { return head % a.kv_heads; }
};

}  // namespace

FAULTY_SDPA(Fault)
