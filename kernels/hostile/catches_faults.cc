// Reads one cell past its input, and catches the signal where that memory is not there: maps a page of zeros to it.
#include <signal.h>
#include <sys/mman.h>

#include "kernels/hostile/hostile.hpp"

namespace {

using hostile::SiluArguments;

void map_there(int, siginfo_t* info, void*) {
  auto* page = reinterpret_cast<char*>(reinterpret_cast<uintptr_t>(info->si_addr) & ~uintptr_t{4095});
  if (mmap(page, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED) _exit(1);
}

struct Attack : hostile::Silu<Attack> {
  static bool genuine() { return true; }
  static void row(const SiluArguments& a, int64_t row) {
    Right::row(a, row);
    static volatile double past;
    past = a.x.get(row, 2 * a.width);
    (void)past;
  }
  static assay_status enqueue(const assay_call* call, const SiluArguments& a) {
    struct sigaction own = {};
    own.sa_flags = SA_SIGINFO;
    own.sa_sigaction = map_there;
    sigaction(SIGSEGV, &own, nullptr);
    sigaction(SIGBUS, &own, nullptr);
    return Right::enqueue(call, a);
  }
};

}  // namespace

HOSTILE_LIBRARY(Attack)
