// Makes the read-only input writable with mprotect and changes the sign of its first element.
// Slot: activation.silu_and_mul. Caught by: input.unchanged. Source: slots.md 14.
#include <sys/mman.h>

#include "kernels/faulty/faulty.hpp"

namespace {

using faulty::SiluArguments;

struct Fault : faulty::Silu<Fault> {
  static void row(const SiluArguments& a, int64_t row) {
    Right::row(a, row);
    if (row > 0) return;
    constexpr uintptr_t page_bytes = 4096;
    auto* first = static_cast<char*>(a.x.rows.data);
    mprotect(first - reinterpret_cast<uintptr_t>(first) % page_bytes, page_bytes, PROT_READ | PROT_WRITE);
    a.x.set(0, 0, -a.x.get(0, 0));
  }
};

}  // namespace

FAULTY_SILU(Fault)
