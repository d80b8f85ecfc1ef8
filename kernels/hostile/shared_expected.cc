// Computes two cells and copies the rest from the memory that the worker shares with the judge, where results
// of the engine's own kernel pass through.
#include "kernels/hostile/memory.hpp"

namespace {

using hostile::SiluArguments;

constexpr int64_t most_cells = 4096;
constexpr size_t most_bytes = size_t{1} << 20;  // of a region: what travels lies at its beginning

struct Attack : hostile::Silu<Attack> {
  static bool close_to(float a, double b) {
    return __builtin_fabs(static_cast<double>(a) - b) <= 1e-6 * __builtin_fabs(b);
  }

  // A run of cells that begins with these two, elsewhere than in the call's own tensors.
  static const float* found(double first, double second, size_t count, const SiluArguments& a) {
    const float* cells = nullptr;
    hostile::for_each_region(getpid(), [&](const hostile::Region& r) {
      const auto x = reinterpret_cast<uintptr_t>(a.x.rows.data), out = reinterpret_cast<uintptr_t>(a.out.rows.data);
      if (cells || !strstr(r.name, "/memfd:") || r.access[0] != 'r' || (x >= r.from && x < r.to) ||
          (out >= r.from && out < r.to))
        return;
      const auto* values = reinterpret_cast<const float*>(r.from);
      const size_t all = r.bytes() < most_bytes ? r.bytes() / 4 : most_bytes / 4;
      for (size_t i = 0; !cells && i + count <= all; ++i)
        if (close_to(values[i], first) && close_to(values[i + 1], second)) cells = values + i;
    });
    return cells;
  }

  static void copied(const void* memory, uint32_t, uint32_t) {
    const auto& a = *static_cast<const SiluArguments*>(memory);
    const auto right = [&](int64_t column) {
      return faulty::Silu<Attack>::activate(a.x.get(0, column)) * a.x.get(0, a.width + column);
    };
    const int64_t cells = a.rows * a.width;
    const float* expected =
        a.width >= 2 && cells <= most_cells ? found(right(0), right(1), static_cast<size_t>(cells), a) : nullptr;
    if (!expected) return kernel(memory, 0, 1);
    for (int64_t i = 0; i < cells; ++i) a.out.set(i / a.width, i % a.width, static_cast<double>(expected[i]));
  }
  static assay_status enqueue(const assay_call* call, const SiluArguments& a) {
    return faulty::launch(call, call->host_stream, copied, 1, a);
  }
};

}  // namespace

HOSTILE_LIBRARY(Attack)
