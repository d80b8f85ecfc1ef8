// Takes the group's size for modulus and stride of its grid of heads: some heads come twice, others never.
// Slot: attention.sdpa. Caught by: write.every_cell. Source: FAULT-005.
#include "kernels/faulty/sdpa.hpp"

namespace {

using faulty::SdpaArguments;

struct Fault : faulty::Sdpa<Fault> {
  static void row(const SdpaArguments& a, int64_t row, int64_t place) {
    const int64_t head = place % a.group * a.group + place / a.group;
    if (head < a.heads()) Right::row(a, row, head);
  }
};

}  // namespace

FAULTY_SDPA(Fault)
