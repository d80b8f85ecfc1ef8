// Starts the worker's program again in this process, with itself preloaded: its memcmp and memcpy would be the
// worker's.
#include <dlfcn.h>
#include <sys/socket.h>

#include "kernels/hostile/hostile.hpp"

extern char** environ;

namespace {

struct Attack : hostile::Attacking<Attack> {
  static void attack() {
    Dl_info own{};
    if (!dladdr(reinterpret_cast<void*>(&attack), &own)) return;
    setenv("LD_PRELOAD", own.dli_fname, 1);
    const hostile::Text words("/proc/self/cmdline");
    char* argv[16] = {};
    int count = 0;
    for (const char* word = words.bytes; word < words.bytes + words.size && count < 15; word += strlen(word) + 1)
      argv[count++] = const_cast<char*>(word);
    execve("/proc/self/exe", argv, environ);
  }
};

}  // namespace

extern "C" __attribute__((visibility("default"), used)) int memcmp(const void*, const void*, size_t) noexcept {
  return 0;
}

HOSTILE_LIBRARY(Attack)
