// environment.hpp: the environment that a worker gets: a written list, and lies about ranks.
//
// Promises: nothing else of the judge's environment reaches a worker. A confined one's home and scratch folder are its
// private /tmp, where its kernel cache goes too; it gets no MPS, whose daemon serves one user. What a trusting worker
// is told of ranks is always the same; a confined one is told something else each time, or nothing, so that no library
// knows by it that it is judged. No lie is ever true: ranks and sizes are 17 and more.
// Who calls it: session.cc.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace assay {

// `given`: NAME=value, over what is inherited. `draw`: of a confined worker; nothing: it is not confined.
[[nodiscard]] std::vector<std::string> worker_environment(const std::vector<std::string>& given,
                                                          std::optional<std::uint64_t> draw);

}  // namespace assay
