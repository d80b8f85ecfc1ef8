#include "harness/worker/surroundings.hpp"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cfenv>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "harness/worker/program.hpp"

#ifdef __SSE__
#include <xmmintrin.h>
#endif

extern char** environ;

namespace assay {
namespace {

constexpr std::uint64_t kBasis = 0xCBF29CE484222325ULL, kPrime = 0x100000001B3ULL;

std::uint64_t mix(std::uint64_t digest, const void* bytes, std::size_t count) {
  const auto* p = static_cast<const unsigned char*>(bytes);
  for (std::size_t i = 0; i < count; ++i) digest = (digest ^ p[i]) * kPrime;
  return digest;
}

std::int64_t status_field(const char* name) {
  std::int64_t value = 0;
  if (std::FILE* file = std::fopen("/proc/self/status", "re")) {
    char line[256];
    const std::size_t length = std::strlen(name);
    while (std::fgets(line, sizeof line, file))
      if (std::strncmp(line, name, length) == 0) std::sscanf(line + length, "%ld", &value);
    std::fclose(file);
  }
  return value;
}

std::uint64_t rounding() {
  auto mode = static_cast<std::uint64_t>(std::fegetround());
#ifdef __SSE__
  constexpr unsigned kFlags = 0x3F;  // of what happened, not of what will
  mode |= static_cast<std::uint64_t>(_mm_getcsr() & ~kFlags) << 32;
#endif
  return mode;
}

std::int64_t heap_in_use() {
  const struct mallinfo2 heap = mallinfo2();
  return static_cast<std::int64_t>(heap.uordblks + heap.hblkhd);
}

}  // namespace

Surroundings quick_surroundings() {
  Surroundings s;
  s.environment = kBasis;
  for (char** e = environ; e && *e; ++e) s.environment = mix(s.environment, *e, std::strlen(*e) + 1);
  s.signal_handlers = kBasis;
  for (int number = 1; number < NSIG; ++number) {
    struct sigaction action = {};
    if (sigaction(number, nullptr, &action) != 0) continue;
    s.signal_handlers = mix(s.signal_handlers, &action.sa_handler, sizeof action.sa_handler);
  }
  char path[PATH_MAX];
  if (getcwd(path, sizeof path)) s.directory = path;
  s.rounding = rounding();
  return s;
}

Surroundings surroundings() {
  Surroundings s = quick_surroundings();
  s.threads = status_field("Threads:");
  s.anonymous_bytes = 1024 * status_field("RssAnon:");
  s.heap_bytes = heap_in_use();
  return s;
}

std::int64_t host_bytes_held() { return std::max(heap_in_use(), 1024 * status_field("RssAnon:")); }

std::uint32_t changed(const Surroundings& before, const Surroundings& after) noexcept {
  return (before.environment != after.environment ? kEnvironment : 0u) |
         (before.signal_handlers != after.signal_handlers ? kSignalHandlers : 0u) |
         (before.directory != after.directory ? kDirectory : 0u) | (after.threads > before.threads ? kThreads : 0u) |
         (before.rounding != after.rounding ? kRounding : 0u);
}

std::int64_t host_bytes_grown(const Surroundings& before, const Surroundings& after) noexcept {
  return std::max(after.heap_bytes - before.heap_bytes, after.anonymous_bytes - before.anonymous_bytes);
}

}  // namespace assay
