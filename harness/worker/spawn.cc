#include "harness/worker/spawn.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "harness/device/owned_fd.hpp"

namespace assay {

pid_t spawn(SpawnPlan plan) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, plan.output, 1);
  posix_spawn_file_actions_adddup2(&actions, plan.output, 2);
  // A dup2 onto itself clears close-on-exec.
  for (const auto& [own, there] : plan.descriptors) posix_spawn_file_actions_adddup2(&actions, own, there);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  posix_spawnattr_setpgroup(&attributes, 0);
  sigset_t blocked, defaults;
  sigemptyset(&blocked);
  if (plan.signals == SpawnPlan::Signals::held) {
    sigaddset(&blocked, SIGTERM);
    sigaddset(&blocked, SIGCHLD);
  }
  sigfillset(&defaults);
  posix_spawnattr_setsigmask(&attributes, &blocked);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  std::vector<char*> argv, envp;
  for (std::string& w : plan.words) argv.push_back(w.data());
  for (std::string& e : plan.environment) envp.push_back(e.data());
  argv.push_back(nullptr);
  envp.push_back(nullptr);
  pid_t pid = -1;
  const int error = posix_spawn(&pid, plan.program.c_str(), &actions, &attributes, argv.data(), envp.data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) throw std::system_error(error, std::generic_category(), "cannot start " + plan.program);
  return pid;
}

int pipe_with(const std::string& text) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) throw std::system_error(errno, std::generic_category(), "pipe2");
  OwnedFd reading(ends[0]);
  const OwnedFd writing(ends[1]);
  if (write(writing.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    throw std::system_error(errno, std::generic_category(), "writing to a pipe");
  return fcntl(reading.get(), F_DUPFD_CLOEXEC, 0);
}

}  // namespace assay
