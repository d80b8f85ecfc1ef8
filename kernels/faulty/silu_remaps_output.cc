// Maps fresh memory over the page of the first output cell: all looks right to this process and to no other.
// Slot: activation.silu_and_mul. Caught by: write.every_cell. Source: slots.md 14.
#include <string.h>
#include <sys/mman.h>

#include "kernels/faulty/faulty.hpp"

namespace {

using faulty::SiluArguments;

struct Fault : faulty::Silu<Fault> {
  static void row(const SiluArguments& a, int64_t row) {
    if (row == 0) {
      constexpr uintptr_t page_bytes = 4096;
      static char kept[page_bytes];
      auto* first = static_cast<char*>(a.out.rows.data);
      char* page = first - reinterpret_cast<uintptr_t>(first) % page_bytes;
      memcpy(kept, page, page_bytes);
      mmap(page, page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
      memcpy(page, kept, page_bytes);
    }
    Right::row(a, row);
  }
};

}  // namespace

FAULTY_SILU(Fault)
