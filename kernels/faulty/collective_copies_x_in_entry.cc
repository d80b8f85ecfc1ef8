// Copies x in the entry: a replay adds up what its capture was given.
// Slot: collective.all_reduce. Caught by: graph.follows_inputs. Source: slots.md 1.2.
#include "kernels/faulty/collective.hpp"

namespace {

using faulty::ReduceArguments;

struct Fault : faulty::AllReduce<Fault> {
  // A ring of calls that is longer than any graph or queue of the suite.
  struct Copy {
    float cells[65536];
  };
  static assay_status enqueue(const assay_call* call, const ReduceArguments& a) {
    static Copy ring[16];
    static uint32_t next = 0;
    if (a.rows * a.width > 65536) return Right::enqueue(call, a);
    Copy& copy = ring[next++ % 16];
    for (int64_t row = 0; row < a.rows; ++row)
      for (int64_t column = 0; column < a.width; ++column)
        copy.cells[row * a.width + column] = static_cast<float>(a.x.get(row, column));
    ReduceArguments own = a;
    own.x.rows = {.data = copy.cells, .step = 1, .leads = 1, .extents = {a.rows}, .strides = {a.width}};
    own.x.cells = faulty::Cells::f32;
    return Right::enqueue(call, own);
  }
};

}  // namespace

FAULTY_ALL_REDUCE(Fault)
