// memory.hpp: the memory of a process, as /proc tells it: for attacks that read or change a judge's, or what a worker
// shares with one.
#pragma once

#include <inttypes.h>

#include "kernels/hostile/hostile.hpp"

namespace hostile {

struct Region {
  uintptr_t from, to;
  char access[5];
  char name[192];
  [[nodiscard]] size_t bytes() const { return to - from; }
};

template <class Visit>
void for_each_region(pid_t pid, Visit&& visit) {
  FILE* maps = fopen(Path("/proc/%d/maps", static_cast<int>(pid)).text, "re");
  if (!maps) return;
  char line[512];
  while (fgets(line, sizeof line, maps)) {
    Region r{};
    if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s %*s %*s %*s %191[^\n]", &r.from, &r.to, r.access, r.name) >= 3)
      visit(r);
  }
  fclose(maps);
}

// Where a double lies in a block that was read from `base`; 0: nowhere from `after` on.
inline uintptr_t find_double(const char* block, size_t bytes, uintptr_t base, double wanted, size_t after = 0) {
  for (size_t at = after; at + sizeof wanted <= bytes; at += sizeof wanted)
    if (memcmp(block + at, &wanted, sizeof wanted) == 0) return base + at;
  return 0;
}

// The two numbers that a judge grades fp32 outputs by, their tolerance and the factor of their error bound, and what
// they become: as much as a contract may say, and anything.
struct Grade {
  double was, becomes;
};
constexpr Grade graded_by[] = {{1e-5, 0.9}, {1.05, 1e300}};

// Calls `found` with each place of them in the constants of a judge's program, and with the new number.
template <class Found>
void for_each_tolerance(pid_t pid, Found&& found) {
  const int memory = open(Path("/proc/%d/mem", static_cast<int>(pid)).text, O_RDONLY | O_CLOEXEC);
  if (memory < 0) return;
  for_each_region(pid, [&](const Region& r) {
    if (r.access[0] != 'r' || r.access[1] == 'w' || !strstr(r.name, "/assay") || r.bytes() > (size_t{64} << 20)) return;
    char* block = static_cast<char*>(malloc(r.bytes()));
    if (block && pread(memory, block, r.bytes(), static_cast<off_t>(r.from)) == static_cast<ssize_t>(r.bytes()))
      for (const Grade& grade : graded_by)
        for (uintptr_t at = 0; (at = find_double(block, r.bytes(), r.from, grade.was, at ? at + 8 - r.from : 0)) != 0;)
          found(at, grade.becomes);
    free(block);
  });
  close(memory);
}

// Half as much again, which such tolerances forgive.
template <class Self>
struct Generous : Attacking<Self> {
  static double activate(double x) { return 1.5 * faulty::Silu<Self>::activate(x); }
};

}  // namespace hostile
