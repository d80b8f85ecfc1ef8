// Reads the selection as (B,Hkv,K).
// Slot: attention.decode. Caught by: number.reference. Source: FAULT-013.
#include "kernels/faulty/decode.hpp"

namespace {

using faulty::DecodeArguments;

struct Fault : faulty::Decode<Fault> {
  static int64_t chosen(const DecodeArguments& a, int64_t request, int64_t kv_head, int64_t place) {
    return a.selected.data[(request * a.kv_heads + kv_head) * a.width + place];
  }
};

}  // namespace

FAULTY_DECODE(Fault)
