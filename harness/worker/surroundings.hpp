// surroundings.hpp: what of its process a call must leave as it found it.
//
// Promises: environment, signal handlers, working directory, how the calling thread rounds, and thread count as bits
// of Surrounding; host memory in bytes (heap in use and touched anonymous pages, whichever grew more). Linux only.
// Who calls it: executor.cc, around prepare and around programs.
//
//   const Surroundings before = surroundings();
//   ...
//   result.surroundings = changed(before, surroundings());
#pragma once

#include <cstdint>
#include <string>

namespace assay {

struct Surroundings {
  std::uint64_t environment = 0, signal_handlers = 0;  // digests
  std::string directory;
  std::uint64_t rounding = 0;  // direction and flushing of small numbers
  std::int64_t threads = 0;
  std::int64_t heap_bytes = 0, anonymous_bytes = 0;
};

[[nodiscard]] Surroundings surroundings();
// Without threads and memory, which take ten times as long to read and are 0.
[[nodiscard]] Surroundings quick_surroundings();
[[nodiscard]] std::int64_t host_bytes_held();
[[nodiscard]] std::uint32_t changed(const Surroundings& before, const Surroundings& after) noexcept;
[[nodiscard]] std::int64_t host_bytes_grown(const Surroundings& before, const Surroundings& after) noexcept;

}  // namespace assay
