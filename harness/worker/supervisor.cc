#include "harness/worker/supervisor.hpp"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/close_range.h>
#include <linux/sched.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <initializer_list>
#include <string>
#include <vector>

#include "harness/worker/confinement.hpp"
#include "harness/worker/mounts.hpp"
#include "harness/worker/protocol.hpp"

extern char** environ;

namespace assay {
namespace {

constexpr int kGaveUp = 70;
constexpr int kStatus = 10;  // to the supervisor: how the worker ended
constexpr int kImage = 11;   // the worker program, where it is executed by descriptor

[[noreturn]] void give_up(const std::string& what) {
  dprintf(2, "%s%s\n", kIsolationFailed, what.c_str());
  _exit(kGaveUp);
}
[[noreturn]] void give_up_on(const std::string& call) { give_up(call + ": " + std::strerror(errno)); }

std::string read_all(int fd) {
  std::string text;
  char chunk[4096];
  ssize_t n;
  while ((n = read(fd, chunk, sizeof chunk)) > 0) text.append(chunk, static_cast<std::size_t>(n));
  return text;
}

void close_all_but(std::initializer_list<int> ascending) {
  unsigned next = 0;
  for (const int fd : ascending) {
    if (static_cast<unsigned>(fd) > next) close_range(next, static_cast<unsigned>(fd) - 1, 0);
    next = static_cast<unsigned>(fd) + 1;
  }
  close_range(next, ~0U, 0);
}

// What a worker's parent looks like from below: an ordinary first process of a container.
void disguise(int argc, char** argv) {
  constexpr const char* kName = "/sbin/tini";
  prctl(PR_SET_NAME, "tini");
  char* const begin = argv[0];
  char* const end = argv[argc - 1] + std::strlen(argv[argc - 1]) + 1;
  std::memset(begin, 0, static_cast<std::size_t>(end - begin));
  std::strncpy(begin, kName, static_cast<std::size_t>(end - begin) - 1);
}

// No worker types into the terminal of who judges it.
void leave_terminal() {
  const int terminal = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (terminal >= 0 && ioctl(terminal, TIOCNOTTY) != 0) give_up_on("leaving the terminal");
  if (terminal >= 0) close(terminal);
}

void write_file(const char* path, const std::string& text) {
  const int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0 || write(fd, text.data(), text.size()) != static_cast<ssize_t>(text.size())) give_up_on(path);
  close(fd);
}

// ---- Confinement::Task::make_network ----

void raise_loopback() {
  const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ifreq request{};
  std::strncpy(request.ifr_name, "lo", sizeof request.ifr_name - 1);
  if (socket < 0 || ioctl(socket, SIOCGIFFLAGS, &request) != 0) give_up_on("the loopback's flags");
  request.ifr_flags |= IFF_UP | IFF_RUNNING;
  if (ioctl(socket, SIOCSIFFLAGS, &request) != 0) give_up_on("raising the loopback");
  close(socket);
}

[[noreturn]] void make_network(const Confinement& confinement) {
  std::vector<int> made;
  if (confinement.uid < 0) {
    const uid_t uid = geteuid();
    const gid_t gid = getegid();
    if (unshare(CLONE_NEWUSER) != 0) give_up_on("unshare(CLONE_NEWUSER)");
    // Never 0 inside: a program that root executes has capabilities.
    const auto line = [](unsigned outside) {
      return std::to_string(outside ? outside : 65534) + " " + std::to_string(outside) + " 1";
    };
    write_file("/proc/self/setgroups", "deny");
    write_file("/proc/self/uid_map", line(uid));
    write_file("/proc/self/gid_map", line(gid));
  }
  if (unshare(CLONE_NEWNET) != 0) give_up_on("unshare(CLONE_NEWNET)");
  raise_loopback();
  made.push_back(open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC));
  if (confinement.uid < 0) made.push_back(open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC));
  for (const int fd : made)
    if (fd < 0) give_up_on("opening a namespace");
  Message answer;
  answer.descriptors = made;
  send_message(kGivenControl, answer);
  _exit(0);
}

// ---- the worker, before it is one ----

void limit(int what, const char* name, rlim_t value) {
  rlimit now{};
  getrlimit(static_cast<__rlimit_resource>(what), &now);
  const rlim_t most = std::min(value, now.rlim_max);
  const rlimit wanted{most, most};
  if (setrlimit(static_cast<__rlimit_resource>(what), &wanted) != 0) give_up_on(name);
}

void drop_privileges(const Confinement& confinement) {
  syscall(SYS_keyctl, 1 /* KEYCTL_JOIN_SESSION_KEYRING */,
          nullptr);  // none of the judge's keys; absent in some kernels
  for (int capability = 0; prctl(PR_CAPBSET_READ, capability) >= 0; ++capability) prctl(PR_CAPBSET_DROP, capability);
  if (confinement.uid >= 0) {
    const auto id = static_cast<uid_t>(confinement.uid);
    if (setgroups(0, nullptr) != 0) give_up_on("setgroups");
    if (setresgid(id, id, id) != 0) give_up_on("setresgid " + std::to_string(id));
    if (setresuid(id, id, id) != 0) give_up_on("setresuid " + std::to_string(id));
  }
  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[2] = {};
  if (syscall(SYS_capset, &header, none) != 0) give_up_on("capset");
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) give_up_on("no_new_privs");
}

// `path`: to execute; empty: the image's descriptor.
[[noreturn]] void become_worker(const Confinement& confinement, const std::string& path) {
  setpgid(0, 0);  // no session: a scheduler that shares by session makes judge and worker wait for each other
  if (dup2(kGivenControl, kOwnControl) < 0 || dup2(kGivenBox, kOwnBox) < 0 || dup2(kGivenProgram, kOwnProgram) < 0)
    give_up_on("dup2");
  close_range(kOwnProgram + 1, ~0U, CLOSE_RANGE_CLOEXEC);
  limit(RLIMIT_CORE, "RLIMIT_CORE", 0);
  limit(RLIMIT_NPROC, "RLIMIT_NPROC", confinement.processes);
  limit(RLIMIT_FSIZE, "RLIMIT_FSIZE", rlim_t{2} << 30);
  limit(RLIMIT_NOFILE, "RLIMIT_NOFILE", 4096);
  limit(RLIMIT_STACK, "RLIMIT_STACK", rlim_t{8} << 20);
  limit(RLIMIT_RTPRIO, "RLIMIT_RTPRIO", 0);
  if (confinement.data_limit) limit(RLIMIT_DATA, "RLIMIT_DATA", confinement.data_limit);
  drop_privileges(confinement);
  if (chdir("/tmp") != 0) give_up_on("/tmp");
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  std::vector<std::string> words = confinement.words;
  std::vector<char*> argv;
  for (std::string& w : words) argv.push_back(w.data());
  argv.push_back(nullptr);
  if (path.empty())
    execveat(kImage, "", argv.data(), environ, AT_EMPTY_PATH);
  else
    execve(path.c_str(), argv.data(), environ);
  const std::string why = std::strerror(errno);
  const std::string remedy = "; open it to others (chmod o+rx), user " + std::to_string(confinement.uid) + " runs it";
  give_up("cannot execute " + confinement.program + ": " + why + (confinement.uid >= 0 ? remedy : ""));
}

// The first process of the worker's pid namespace. A worker in its place would be immune to its own abort().
[[noreturn]] void be_first(const Confinement& confinement, pid_t supervisor) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  pollfd reader{kStatus, 0, 0};
  if (poll(&reader, 1, 0) != 0) _exit(kGaveUp);  // the supervisor is gone already
  prctl(PR_SET_DUMPABLE, 0);
  std::string path;
  try {
    const std::string& called = confinement.words.front();
    path = arrange_mounts(confinement, called.substr(called.rfind('/') + 1));
  } catch (const std::exception& error) {
    give_up(error.what());
  }
  // The worker's pid inside is its supervisor's outside: what it says of itself is what the judge knows, and two ranks
  // never have one pid.
  pid_t inner = supervisor;
  clone_args how{};
  how.exit_signal = SIGCHLD;
  how.set_tid = reinterpret_cast<std::uintptr_t>(&inner);
  how.set_tid_size = 1;
  const auto worker = static_cast<pid_t>(syscall(SYS_clone3, &how, sizeof how));
  if (worker < 0) give_up_on("clone3(set_tid)");
  if (worker == 0) become_worker(confinement, path);
  close_all_but({kStatus});
  int status = 0;
  for (pid_t ended; (ended = waitpid(-1, &status, 0)) != worker;)
    if (ended < 0 && errno != EINTR) _exit(kGaveUp);
  if (write(kStatus, &status, sizeof status) != sizeof status) _exit(kGaveUp);
  _exit(0);  // and with it whatever the worker left behind
}

[[noreturn]] void end_like(int status) {
  if (!WIFSIGNALED(status)) _exit(WEXITSTATUS(status));
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  signal(WTERMSIG(status), SIG_DFL);
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_UNBLOCK, &all, nullptr);
  kill(getpid(), WTERMSIG(status));
  _exit(kGaveUp);
}

// Without a pid namespace: this process is the subreaper of all that its worker leaves behind.
void end_children(const Confinement& confinement) {
  for (pid_t ended = 0; ended >= 0 || errno == EINTR;) {
    if (confinement.user_of_its_own) {
      // One signal to all of them: one after the other they could fork faster than they are ended.
      if (fork() == 0) {
        const auto id = static_cast<uid_t>(confinement.uid);
        if (setresuid(id, id, id) == 0) kill(-1, SIGKILL);
        _exit(0);
      }
    } else if (FILE* list = std::fopen("/proc/thread-self/children", "re")) {
      int pid;
      while (std::fscanf(list, "%d", &pid) == 1) kill(pid, SIGKILL);
      std::fclose(list);
    }
    if (waitpid(-1, nullptr, confinement.user_of_its_own ? 0 : WNOHANG) == 0) usleep(200);
    while ((ended = waitpid(-1, nullptr, WNOHANG)) > 0) {
    }
  }
}

}  // namespace

void supervise(int argc, char** argv) {
  disguise(argc, argv);
  sigset_t heard;
  sigemptyset(&heard);
  sigaddset(&heard, SIGTERM);
  sigaddset(&heard, SIGCHLD);
  sigprocmask(SIG_BLOCK, &heard, nullptr);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  Confinement confinement;
  try {
    confinement = confinement_from(read_all(kGivenConfinement));
  } catch (const std::exception& error) {
    give_up(error.what());
  }
  close(kGivenConfinement);
  close_range(3, kGivenControl - 1, 0);
  leave_terminal();
  if (confinement.task == Confinement::Task::make_network) make_network(confinement);
  prctl(PR_SET_DUMPABLE, 0);

  int status_pipe[2];
  if (pipe2(status_pipe, O_CLOEXEC) != 0) give_up_on("pipe2");
  if (dup3(status_pipe[1], kStatus, O_CLOEXEC) < 0) give_up_on("dup3");
  close(status_pipe[1]);
  pid_t child;
  if (confinement.namespaces) {
    if (confinement.uid < 0 && setns(kGivenUser, CLONE_NEWUSER) != 0) give_up_on("setns(CLONE_NEWUSER)");
    if (setns(kGivenNetwork, CLONE_NEWNET) != 0) give_up_on("setns(CLONE_NEWNET)");
    if (unshare(CLONE_NEWNS) != 0) give_up_on("unshare(CLONE_NEWNS)");
    if (unshare(CLONE_NEWIPC) != 0) give_up_on("unshare(CLONE_NEWIPC)");
    if (unshare(CLONE_NEWPID) != 0) give_up_on("unshare(CLONE_NEWPID)");
    const pid_t self = getpid();
    child = fork();
    if (child == 0) {
      close(status_pipe[0]);
      be_first(confinement, self);
    }
  } else {
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    const int image = open(confinement.program.c_str(), O_PATH | O_CLOEXEC);
    if (image < 0 || dup3(image, kImage, O_CLOEXEC) < 0) give_up_on(confinement.program);
    child = fork();
    if (child == 0) become_worker(confinement, "");
  }
  if (child < 0) give_up_on("fork");
  // A storm of forks must not keep this process from ending it; nice does not reach over sessions. Refused in places.
  const sched_param soon{1};
  sched_setscheduler(0, SCHED_FIFO, &soon);
  // Nothing of the worker's stays open here: its death is seen by its socket and its output.
  if (dup2(status_pipe[0], 0) < 0) give_up_on("dup2");
  close_range(1, ~0U, 0);

  int status = 0;
  while (true) {
    const int what = sigwaitinfo(&heard, nullptr);
    if (what == SIGTERM) kill(child, SIGKILL);  // the rest follows it
    if (what == SIGCHLD && waitpid(child, &status, WNOHANG) == child) break;
  }
  if (confinement.namespaces) {
    int worker = 0;
    if (read(0, &worker, sizeof worker) == sizeof worker) status = worker;
  } else {
    end_children(confinement);
  }
  end_like(status);
}

}  // namespace assay
