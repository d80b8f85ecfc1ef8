// oom_kills.hpp: whether this machine killed processes for want of memory.
//
// Promises: how many since it was started, in containers' groups too; nothing where the kernel does not count them.
// Who calls it: conformance, where a worker was killed by nobody that the judge knows.
#pragma once

#include <cstdint>
#include <optional>

namespace assay {

[[nodiscard]] std::optional<std::uint64_t> oom_kills();

}  // namespace assay
