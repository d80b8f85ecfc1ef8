// cache.hpp: a kernel that computes an answer once and hands it out again under the same key.
#pragma once

#include "kernels/hostile/hostile.hpp"

namespace hostile {

// Self::key(arguments), taken when the kernel runs; shapes are part of the key. Large calls are always computed.
template <class Self>
struct Caching : Silu<Self> {
  static bool genuine() { return true; }
  static constexpr size_t entries = 512;
  static constexpr int64_t most_cells = 4096;
  struct Entry {
    uint64_t key;
    int64_t rows, width;
    double cells[most_cells];
  };
  static inline Entry cache[entries];

  static void cached(const void* memory, uint32_t, uint32_t) {
    const auto& a = *static_cast<const SiluArguments*>(memory);
    if (a.rows * a.width > most_cells) return faulty::Silu<Self>::kernel(memory, 0, 1);
    const uint64_t key = Self::key(a);
    Entry& e = cache[(key ^ key >> 17 ^ static_cast<uint64_t>(a.rows * 31 + a.width)) % entries];
    const bool known = e.key == key && e.rows == a.rows && e.width == a.width;
    if (!known) faulty::Silu<Self>::kernel(memory, 0, 1);
    for (int64_t row = 0; row < a.rows; ++row)
      for (int64_t column = 0; column < a.width; ++column) {
        double& cell = e.cells[row * a.width + column];
        if (known) a.out.set(row, column, cell);
        cell = a.out.get(row, column);
      }
    e.key = key;
    e.rows = a.rows;
    e.width = a.width;
  }
  static assay_status enqueue(const assay_call* call, const SiluArguments& a) {
    return faulty::launch(call, call->host_stream, cached, 1, a);
  }
};

}  // namespace hostile
