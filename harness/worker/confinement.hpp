// confinement.hpp: how a judge tells a supervisor what to start, and under what.
//
// Promises: one line of JSON through a pipe, and descriptors at fixed numbers; nothing of it reaches the worker, which
// finds its three descriptors at fixed numbers of its own.
// Who calls it: isolation.cc and session.cc (write), supervisor.cc (reads).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace assay {

struct Confinement {
  enum class Task : std::uint8_t {
    make_network,  // a network namespace with a loopback, answered on the control socket; starts nothing
    start_worker,
  };
  Task task = Task::start_worker;
  std::int64_t uid = -1;             // user and group of the worker; -1: it keeps the judge's, in a user namespace
  bool namespaces = false;           // pid, mount, ipc of its own, and the network namespace that comes as a descriptor
  bool user_of_its_own = false;      // no other worker has it
  std::string program;               // the worker program
  std::vector<std::string> words;    // what it is called with: argv as others see it
  std::string library;               // absolute; empty: linked into the program
  std::vector<std::string> folders;  // others that have to stay visible, where they lie under one that is covered
  std::uint64_t data_limit = 0;      // bytes; 0: none
  std::uint64_t processes = 0;       // RLIMIT_NPROC
};

[[nodiscard]] std::string to_text(const Confinement&);
[[nodiscard]] Confinement confinement_from(const std::string& text);  // throws nlohmann::json::exception

// A supervisor's descriptors. Those of namespaces are open where there is one to join.
inline constexpr int kGivenControl = 200, kGivenBox = 201, kGivenProgram = 202, kGivenConfinement = 203,
                     kGivenNetwork = 204, kGivenUser = 205;
// A confined worker's: the only ones beside 0, 1 and 2.
inline constexpr int kOwnControl = 3, kOwnBox = 4, kOwnProgram = 5;

inline constexpr const char* kSuperviseWord = "--supervise";
// Before the sentence with which a supervisor gives up, on its standard error.
inline constexpr const char* kIsolationFailed = "isolation: ";

}  // namespace assay
