// peer_stress: a candidate's collective slots under skew, against exact sums, without assay: to be run by hand, where
// the machinery of ranks is itself in question, and for latency.
//
//   peer_stress libassay_cuda_peer_kernels.so [--ranks 2] [--calls 3000] [--seed 0] [--seconds 300] [--latency]
//               [--nccl libnccl.so.2]
//
// Exit code: 0 all right, 1 wrong or hung, 2 bad usage, 3 no device.
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

#include "kernels/cuda/peer/stress/latency.hpp"

namespace {

struct Options {
  std::string library, nccl = "libnccl.so.2";
  long ranks = 2, calls = 3000, seed = 0, seconds = 300;
  bool latency = false;
};

long number(const char* option, const char* text, long low, long high) {
  char* end = nullptr;
  const long value = text != nullptr ? std::strtol(text, &end, 10) : 0;
  if (text == nullptr || *text == 0 || *end != 0 || value < low || value > high)
    throw std::invalid_argument(std::string(option) + " takes a number from " + std::to_string(low) + " to " +
                                std::to_string(high) + ".");
  return value;
}

Options parsed(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const char* const next = argv[i + 1];
    if (word == "--ranks") {
      o.ranks = number("--ranks", next, 1, stress::kMostRanks), ++i;
    } else if (word == "--calls") {
      o.calls = number("--calls", next, 0, 100000000), ++i;
    } else if (word == "--seed") {
      o.seed = number("--seed", next, 0, 1L << 62), ++i;
    } else if (word == "--seconds") {
      o.seconds = number("--seconds", next, 1, 86400), ++i;
    } else if (word == "--nccl" && next != nullptr) {
      o.nccl = next, ++i;
    } else if (word == "--latency") {
      o.latency = true;
    } else if (word.compare(0, 1, "-") != 0 && o.library.empty()) {
      o.library = word;
    } else {
      throw std::invalid_argument("Unknown or incomplete argument: " + word + ".");
    }
  }
  if (o.library.empty())
    throw std::invalid_argument(
        "usage: peer_stress LIBRARY [--ranks N] [--calls N] [--seed N] [--seconds N] [--latency] [--nccl LIBRARY]");
  return o;
}

void live(const Options& o, stress::Group& group) {
  const stress::Candidate candidate(o.library.c_str(), group);
  const auto calls =
      stress::run_trials(candidate, group, static_cast<std::uint64_t>(o.seed), static_cast<std::uint64_t>(o.calls));
  if (group.handle.rank == 0)
    std::printf("%ld ranks, seed %ld: %llu calls, all right\n", o.ranks, o.seed,
                static_cast<unsigned long long>(calls));
  if (!o.latency) return;
  int devices = 0;
  stress::require(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
  if (devices >= o.ranks) {
    stress::print_latency(candidate, group, o.nccl.c_str());
  } else if (group.handle.rank == 0) {
    std::printf("no latency: %ld ranks share %d GPUs\n", o.ranks, devices);
  }
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  try {
    options = parsed(argc, argv);
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
  const auto outcome = stress::run_ranks(static_cast<int>(options.ranks), static_cast<int>(options.seconds),
                                         [&](stress::Group& group) { live(options, group); });
  if (outcome == stress::Outcome::no_device) std::printf("skipped: there is no CUDA device here\n");
  return outcome == stress::Outcome::passed ? 0 : outcome == stress::Outcome::failed ? 1 : 3;
}
