// spawn.hpp: starts a program in a process group of its own, with the descriptors it is given and no others beside its
// output.
// Who calls it: session.cc, isolation.cc.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace assay {

struct SpawnPlan {
  enum class Signals : std::uint8_t { heard, held };  // held: SIGTERM and SIGCHLD are blocked until it wants them
  std::string program;
  std::vector<std::string> words, environment;
  std::vector<std::pair<int, int>> descriptors;  // of ours, the number there: above those that are in use
  int output = -1;                               // its standard output and error
  Signals signals = Signals::heard;
};

[[nodiscard]] pid_t spawn(SpawnPlan);  // throws std::system_error

// The reading end of a pipe that holds `text`, at most 64 KiB.
[[nodiscard]] int pipe_with(const std::string& text);  // throws std::system_error

}  // namespace assay
