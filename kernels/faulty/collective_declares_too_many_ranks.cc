// Declares two and four ranks, and adds up no more than two.
// Slot: collective.all_reduce. Caught by: collective.world_sizes. Source: rules.md.
#include "kernels/faulty/collective.hpp"

namespace {

using faulty::ReduceArguments;

struct Fault : faulty::AllReduce<Fault> {
  static constexpr const char* capabilities = R"({"world_size": [2, 4]})";
  static double cell(const ReduceArguments& a, int64_t row, int64_t column) {
    double sum = 0;
    for (int rank = 0; rank < a.peers->world && rank < 2; ++rank) sum += part(a, rank, row, column);
    return sum;
  }
};

}  // namespace

FAULTY_ALL_REDUCE(Fault)
