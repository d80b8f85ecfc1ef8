// Maps query head h to key/value head h % Hkv.
// Slot: attention.decode. Caught by: number.reference. Source: slots.md 5.4.
#include "kernels/faulty/decode.hpp"

namespace {

using faulty::DecodeArguments;

struct Fault : faulty::Decode<Fault> {
  static int64_t kv_head(const DecodeArguments& a, int64_t head) { return head % a.kv_heads; }
};

}  // namespace

FAULTY_DECODE(Fault)
