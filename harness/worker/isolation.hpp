// isolation.hpp: how far this machine keeps workers away from their judge, and what it takes to start one so.
//
// Promises: a level is what a worker of ours was really started with, at once, before anything is judged; what is
// missing is said with the call that was refused. One Isolation is one judge process's: its user ids are no one else's
// on this machine while it lives. Its workers share a network namespace that has a loopback and nothing else, and one
// user; without namespaces each on the host has a user of its own.
// Not promised: protection against the kernel, or against what shares the worker's own process.
// Who calls it: conformance/ under --gate; session.cc, for each worker.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/device/owned_fd.hpp"

namespace assay {

struct Confinement;
struct WorkerConfig;

// As a confined worker has to be told a path: it lives in another folder.
[[nodiscard]] std::string absolute_path(std::string);

enum class IsolationLevel : std::uint8_t {
  in_process,  // the judge's own process
  trusting,    // a process of its own, under the judge's user
  user,        // another user, no_new_privs, limits; a closed environment and descriptors of its own
  namespaces,  // that, or an unprivileged user namespace; and pid, mount, network and ipc namespaces of its own
};
[[nodiscard]] std::string_view name_of(IsolationLevel) noexcept;
[[nodiscard]] IsolationLevel isolation_level_from(std::string_view);  // throws std::invalid_argument

class Isolation {
 public:
  // `supervisor`: our own worker program, which holds no candidate. The best that can be had, down to trusting.
  [[nodiscard]] static std::shared_ptr<const Isolation> establish(const std::string& supervisor, std::uint64_t seed);
  ~Isolation();

  [[nodiscard]] IsolationLevel level() const noexcept { return level_; }
  // For the run line: the level, a colon, what it is made of; why it is not more.
  [[nodiscard]] std::string text() const;
  [[nodiscard]] const std::string& missing() const noexcept { return missing_; }  // why it is not more; or empty

  // Whether workers are started by a supervisor.
  [[nodiscard]] bool confines() const noexcept { return level_ >= IsolationLevel::user; }
  [[nodiscard]] const std::string& supervisor() const noexcept { return supervisor_; }
  [[nodiscard]] int network() const noexcept { return network_.get(); }      // -1: none
  [[nodiscard]] int user_namespace() const noexcept { return user_.get(); }  // -1: none
  // Of the next worker, by name: before its confinement is asked for.
  [[nodiscard]] std::uint64_t draw(std::string_view what) const;
  // What the next worker is started under, and seen as.
  [[nodiscard]] Confinement confinement(const WorkerConfig&) const;

 private:
  Isolation() = default;
  std::string try_namespaces(std::int64_t uid);  // what was refused; empty: it works
  std::string try_user(std::int64_t uid);
  std::string make_network(std::int64_t uid);
  std::string start_one();
  std::int64_t another_user() const;

  IsolationLevel level_ = IsolationLevel::trusting;
  std::string supervisor_, missing_;
  std::int64_t uid_ = -1;
  OwnedFd uid_lock_, network_, user_;
  mutable std::mutex mutex_;
  mutable std::vector<std::pair<std::int64_t, OwnedFd>> users_;  // level user: of workers
  mutable std::size_t next_user_ = 0;
  std::uint64_t seed_ = 0;
  mutable std::atomic<std::uint64_t> started_{0};
};

}  // namespace assay
