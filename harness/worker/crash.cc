#include "harness/worker/crash.hpp"

#include <sys/mman.h>
#include <sys/resource.h>

#include <array>
#include <csignal>
#include <cstdlib>

namespace assay {
namespace {

// Read from a signal handler: plain arrays and lock-free words only.
BlackBox* box = nullptr;
struct Range {
  std::atomic<std::uintptr_t> base{0};
  std::atomic<std::uint64_t> span{0};
};
std::array<Range, 16> arenas;
std::atomic<std::uintptr_t> stack_low{0};
std::atomic<std::size_t> stack_guard{0};

void on_signal(int signal, siginfo_t* info, void*) {
  if (box) {
    const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
    box->signal = static_cast<std::uint32_t>(signal);
    if (signal == SIGSEGV || signal == SIGBUS) {
      box->fault_address = address;
      for (std::size_t i = 0; i < arenas.size(); ++i) {
        const auto base = arenas[i].base.load(), span = static_cast<std::uintptr_t>(arenas[i].span.load());
        if (base && address >= base && address < base + span) {
          box->fault_arena = static_cast<std::uint32_t>(i + 1);
          box->fault_offset = address - base;
        }
      }
      const auto low = stack_low.load();
      if (low && address >= low - 65536 && address < low + stack_guard.load()) box->stack_overflow = 1;
    }
  }
  std::signal(signal, SIG_DFL);
  raise(signal);
}

}  // namespace

void install_crash_handlers(BlackBox* b) {
  box = b;
  struct sigaction action = {};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) sigaction(signal, &action, nullptr);
}

void use_alternate_stack() {
  constexpr std::size_t bytes = 64 * 1024;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) std::abort();
  stack_t stack = {};
  stack.ss_sp = memory;
  stack.ss_size = bytes;
  sigaltstack(&stack, nullptr);
}

void note_candidate_stack(const void* low, std::size_t guard_bytes) {
  stack_low = reinterpret_cast<std::uintptr_t>(low);
  stack_guard = guard_bytes;
}

void note_arena(std::uint32_t id, const void* base, std::uint64_t span) {
  if (id >= arenas.size()) return;
  arenas[id].base = reinterpret_cast<std::uintptr_t>(base);
  arenas[id].span = span;
}

void limit_data(std::uint64_t bytes) {
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  if (bytes == 0) return;
  const rlimit data{bytes, bytes};
  setrlimit(RLIMIT_DATA, &data);
}

}  // namespace assay
