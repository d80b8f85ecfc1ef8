// Takes the table's pitch for a multiple of the block size.
// Slot: attention.decode. Caught by: number.reference. Source: rules.md.
#include "kernels/faulty/decode.hpp"

namespace {

using faulty::DecodeArguments;

struct Fault : faulty::Decode<Fault> {
  static int64_t slot(const DecodeArguments& a, int64_t request, int64_t position) {
    const int64_t pitch = (a.capacity + a.block_size - 1) / a.block_size * a.block_size;
    const int64_t cell = a.rows.at(request) * pitch + position, all = a.table_rows * a.capacity;
    return a.slots.data[cell < all ? cell : all - 1];
  }
};

}  // namespace

FAULTY_DECODE(Fault)
