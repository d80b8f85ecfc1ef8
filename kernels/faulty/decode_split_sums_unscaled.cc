// Merges two splits with the weights of their maxima for the values, and adds up their sums as they are.
// Slot: attention.decode. Caught by: number.reference. Source: rules.md.
#include "kernels/faulty/decode.hpp"

namespace {

using faulty::Attended;
using faulty::DecodeArguments;

struct Fault : faulty::Decode<Fault> {
  static void row(const DecodeArguments& a, int64_t request, int64_t head) {
    Attended first, second;
    attend(a, request, head, 0, a.width / 2, first);
    attend(a, request, head, a.width / 2, a.width, second);
    const double sum = first.sum + second.sum;
    first.merge(second, a.columns);
    first.sum = sum;
    write(a, request, head, first);
  }
};

}  // namespace

FAULTY_DECODE(Fault)
