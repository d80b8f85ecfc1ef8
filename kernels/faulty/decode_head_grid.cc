// Takes the group's size for modulus and stride of its grid of heads: some heads come twice, others never.
// Slot: attention.decode. Caught by: write.every_cell. Source: FAULT-005.
#include "kernels/faulty/decode.hpp"

namespace {

using faulty::DecodeArguments;

struct Fault : faulty::Decode<Fault> {
  static void row(const DecodeArguments& a, int64_t request, int64_t place) {
    const int64_t head = place % a.group * a.group + place / a.group;
    if (head < a.heads()) Right::row(a, request, head);
  }
};

}  // namespace

FAULTY_DECODE(Fault)
