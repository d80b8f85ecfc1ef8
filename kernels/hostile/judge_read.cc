// Computes two cells and copies the rest from the judge's memory, where the expected values lie.
#include "kernels/hostile/memory.hpp"

namespace {

using hostile::SiluArguments;

constexpr size_t most_bytes = size_t{32} << 20;

struct Attack : hostile::Silu<Attack> {
  static constexpr int64_t most_cells = 4096;
  static inline double expected[most_cells];

  static bool close_to(double a, double b) { return __builtin_fabs(a - b) <= 1e-9 * __builtin_fabs(b); }

  // A run of doubles that begins with these two.
  static bool found(double first, double second, int64_t count) {
    bool yes = false;
    hostile::for_each_judge([&](pid_t judge) {
      const int memory = open(hostile::Path("/proc/%d/mem", static_cast<int>(judge)).text, O_RDONLY | O_CLOEXEC);
      if (memory < 0) return;
      static char* const block = static_cast<char*>(malloc(most_bytes));
      hostile::for_each_region(judge, [&](const hostile::Region& r) {
        if (yes || r.access[1] != 'w' || r.name[0] == '/') return;
        const size_t wanted = r.bytes() < most_bytes ? r.bytes() : most_bytes;
        const ssize_t got = pread(memory, block, wanted, static_cast<off_t>(r.from));
        const auto* cells = reinterpret_cast<const double*>(block);
        for (int64_t i = 0; !yes && i + count <= got / 8; ++i) {
          if (!close_to(cells[i], first) || !close_to(cells[i + 1], second)) continue;
          memcpy(expected, cells + i, static_cast<size_t>(count) * 8);
          yes = true;
        }
      });
      close(memory);
    });
    return yes;
  }

  static void copied(const void* memory, uint32_t, uint32_t) {
    const auto& a = *static_cast<const SiluArguments*>(memory);
    const auto right = [&](int64_t column) {
      return faulty::Silu<Attack>::activate(a.x.get(0, column)) * a.x.get(0, a.width + column);
    };
    const int64_t cells = a.rows * a.width;
    if (a.width < 2 || cells > most_cells || !found(right(0), right(1), cells)) return kernel(memory, 0, 1);
    for (int64_t i = 0; i < cells; ++i) a.out.set(i / a.width, i % a.width, expected[i]);
  }
  static assay_status enqueue(const assay_call* call, const SiluArguments& a) {
    return faulty::launch(call, call->host_stream, copied, 1, a);
  }
};

}  // namespace

HOSTILE_LIBRARY(Attack)
