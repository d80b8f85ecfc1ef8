// environment.hpp: the environment that a worker gets: a written list, and lies about ranks.
//
// Promises: nothing else of the judge's environment reaches a worker. A confined one's home and scratch folder are its
// private /tmp, where its kernel cache goes too; it gets no MPS, whose daemon serves one user.
// Who calls it: session.cc.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace assay {

enum class Confined : std::uint8_t { no, yes };

// `given`: NAME=value, over what is inherited.
[[nodiscard]] std::vector<std::string> worker_environment(const std::vector<std::string>& given, Confined);

}  // namespace assay
