#include "harness/worker/oom_kills.hpp"

#include <fstream>
#include <string>

namespace assay {

std::optional<std::uint64_t> oom_kills() {
  std::ifstream counters("/proc/vmstat");
  std::string name;
  for (std::uint64_t value; counters >> name >> value;)
    if (name == "oom_kill") return value;
  return std::nullopt;
}

}  // namespace assay
