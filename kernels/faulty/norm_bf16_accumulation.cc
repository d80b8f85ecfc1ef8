// Adds up the squares pairwise in bf16: inside the tolerance of 16-bit outputs, outside the bound.
// Slot: norm.rmsnorm. Caught by: number.bound. Source: rules.md.
#include "kernels/faulty/faulty.hpp"

namespace {

using faulty::NormArguments;

struct Fault : faulty::Norm<Fault> {
  static double sum_of(const NormArguments& a, int64_t row, int64_t begin, int64_t end) {
    faulty::Grid narrow{};
    narrow.cells = faulty::Cells::bf16;
    const double left =
        end - begin == 1 ? a.x.get(row, begin) * a.x.get(row, begin) : sum_of(a, row, begin, begin + (end - begin) / 2);
    const double right = end - begin == 1 ? 0.0 : sum_of(a, row, begin + (end - begin) / 2, end);
    return faulty::rounded(narrow, left + right);
  }
  static double sum(const NormArguments& a, int64_t row) { return sum_of(a, row, 0, a.width); }
};

}  // namespace

FAULTY_NORM(Fault)
