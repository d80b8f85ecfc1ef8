// Up to 16 rows it counts finished blocks in a word that must be zero, where calls of more rows put their scratch.
// Slot: norm.rmsnorm. Caught by: input.not_retained. Source: FAULT-037.
#include "kernels/faulty/faulty.hpp"

namespace {

using faulty::NormArguments;

struct Fault : faulty::Norm<Fault> {
  static constexpr int64_t small = 16;
  // Small calls: the counter in region[0], scales behind it. Large calls: scales from region[0] on.
  static inline double region[faulty::static_rows + 1];

  static void count_and_finish(const void* memory, uint32_t block, uint32_t blocks) {
    const auto& a = *static_cast<const NormArguments*>(memory);
    const auto range = host_kernels::rows_of_block(a.rows, block, blocks);
    for (int64_t row = range.begin; row < range.end; ++row) region[1 + row] = scale(a, row);
    auto* finished = reinterpret_cast<uint64_t*>(region);
    if (__atomic_add_fetch(finished, 1u, __ATOMIC_ACQ_REL) != blocks) return;
    *finished = 0;
    for (int64_t row = 0; row < a.rows; ++row) write(a, row, region[1 + row]);
  }
  static void first_pass(const void* memory, uint32_t block, uint32_t blocks) {
    const auto& a = *static_cast<const NormArguments*>(memory);
    const auto range = host_kernels::rows_of_block(a.rows, block, blocks);
    for (int64_t row = range.begin; row < range.end; ++row) region[row] = scale(a, row);
  }
  static void row(const NormArguments& a, int64_t row) {
    write(a, row, a.rows <= faulty::static_rows ? region[row] : scale(a, row));
  }
  static void write(const NormArguments& a, int64_t row, double scale) {
    for (int64_t column = 0; column < a.width; ++column) a.out.set(row, column, cell(a, row, column, scale));
  }
  static assay_status enqueue(const assay_call* call, const NormArguments& a) {
    const uint32_t blocks = host_kernels::blocks_for(a.rows);
    if (a.rows <= small) return faulty::launch(call, call->host_stream, count_and_finish, blocks, a);
    if (a.rows <= faulty::static_rows) faulty::launch(call, call->host_stream, first_pass, blocks, a);
    return Right::enqueue(call, a);
  }
};

}  // namespace

FAULTY_NORM(Fault)
