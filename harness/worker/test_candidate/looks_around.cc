// A candidate of activation.silu_and_mul that says what it sees of the world and tries what it may not. The call's
// width chooses; what it found goes to standard output, a line each: name, a space, value.
#include <arpa/inet.h>
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <grp.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "assay/abi.h"

extern char** environ;

namespace {

void say(const std::string& name, const std::string& value) { std::printf("%s %s\n", name.c_str(), value.c_str()); }
void say(const std::string& name, long long value) { say(name, std::to_string(value)); }

std::string content(const std::string& path) {
  std::string text;
  if (FILE* file = std::fopen(path.c_str(), "re")) {
    char chunk[4096];
    std::size_t n;
    while ((n = std::fread(chunk, 1, sizeof chunk, file)) > 0) text.append(chunk, n);
    std::fclose(file);
  }
  for (char& c : text)
    if (c == '\0') c = '|';
  return text;
}

std::string first_line(const std::string& path) {
  const std::string text = content(path);
  return text.substr(0, text.find('\n'));
}

std::string entries(const char* folder) {
  std::string names;
  if (DIR* list = opendir(folder)) {
    while (const dirent* entry = readdir(list))
      if (entry->d_name[0] != '.' && std::atoi(entry->d_name) != dirfd(list)) names += std::string(entry->d_name) + ",";
    closedir(list);
  }
  return names;
}

std::string link(const char* path) {
  char target[4096] = {};
  return readlink(path, target, sizeof target - 1) > 0 ? target : std::strerror(errno);
}

void look() {
  say("uid", geteuid());
  say("real_uid", getuid());
  say("gid", getegid());
  say("groups", getgroups(0, nullptr));
  say("pid", getpid());
  say("group", getpgid(0));
  const int terminal = open("/dev/tty", O_RDWR | O_CLOEXEC);
  say("terminal", terminal >= 0);
  if (terminal >= 0) close(terminal);
  say("no_new_privs", prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
  const std::string status = content("/proc/self/status");
  for (const char* set : {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"}) {
    const auto at = status.find(set);
    say(set, at == std::string::npos ? "missing" : status.substr(at + 8, 16));
  }
  for (char** e = environ; *e; ++e) say("env", *e);
  say("descriptors", entries("/proc/self/fd"));
  say("comm", first_line("/proc/self/comm"));
  say("exe", link("/proc/self/exe"));
  say("cmdline", first_line("/proc/self/cmdline"));
  const std::string parent = "/proc/" + std::to_string(getppid());
  say("parent_comm", first_line(parent + "/comm"));
  say("parent_cmdline", first_line(parent + "/cmdline"));
  say("parent_environ", first_line(parent + "/environ"));
  const std::string maps = content("/proc/self/maps");
  for (std::size_t at = 0; (at = maps.find('/', at)) != std::string::npos; at = maps.find('\n', at))
    say("map", maps.substr(at, maps.find('\n', at) - at));
  char folder[4096];
  say("directory", getcwd(folder, sizeof folder) ? folder : "none");
  say("tmp", entries("/tmp"));
  say("dev", entries("/dev"));
  say("run", entries("/run"));
  std::string names;
  if (ifaddrs* all = nullptr; getifaddrs(&all) == 0) {
    for (const ifaddrs* i = all; i; i = i->ifa_next)
      if (names.find(std::string(i->ifa_name) + ",") == std::string::npos) names += std::string(i->ifa_name) + ",";
    freeifaddrs(all);
  }
  say("interfaces", names);
  for (const auto& [name, what] : {std::pair("core", RLIMIT_CORE),
                                   {"nproc", RLIMIT_NPROC},
                                   {"fsize", RLIMIT_FSIZE},
                                   {"nofile", RLIMIT_NOFILE},
                                   {"stack", RLIMIT_STACK},
                                   {"data", RLIMIT_DATA}}) {
    rlimit limit{};
    getrlimit(what, &limit);
    say(name, limit.rlim_max == RLIM_INFINITY ? -1 : static_cast<long long>(limit.rlim_max));
  }
}

// Of every process id that there can be: whom it sees, can read, trace or signal. It spares itself.
void attack() {
  int seen = 0, read_of = 0, traced = 0, signalled = 0;
  for (pid_t pid = 1; pid < 200'000; ++pid) {
    if (kill(pid, 0) != 0 && errno == ESRCH) continue;
    char path[64];
    std::snprintf(path, sizeof path, "/proc/%d/status", pid);
    int process = pid;  // kill() and /proc know threads by their ids too
    if (const std::string status = content(path); !status.empty())
      process = std::atoi(status.c_str() + status.find("Tgid:") + 5);
    if (process != pid || process == getpid()) continue;
    ++seen;
    std::snprintf(path, sizeof path, "/proc/%d/mem", pid);
    if (const int memory = open(path, O_RDWR | O_CLOEXEC); memory >= 0) {
      ++read_of;
      close(memory);
    }
    if (ptrace(PTRACE_SEIZE, pid, nullptr, nullptr) == 0) {
      ++traced;
      ptrace(PTRACE_DETACH, pid, nullptr, nullptr);
    }
    if (kill(pid, 0) == 0) ++signalled;  // it could: where isolation is broken, nothing is killed to show it
  }
  say("seen", seen);
  say("read", read_of);
  say("traced", traced);
  say("signalled", signalled);
}

bool can_write(const std::string& path, int flags) {
  const int fd = open(path.c_str(), flags | O_WRONLY | O_CLOEXEC, 0666);
  if (fd >= 0) close(fd);
  return fd >= 0;
}

// Beside its library stands a file "results.jsonl", and the port in "port" is the judge's.
void damage() {
  Dl_info own{};
  dladdr(reinterpret_cast<void*>(&damage), &own);
  std::string folder = own.dli_fname;
  folder.resize(folder.rfind('/'));
  say("library_folder", folder);
  say("reads_results", content(folder + "/results.jsonl").empty() ? 0 : 1);
  say("appends", can_write(folder + "/results.jsonl", O_APPEND));
  say("truncates", can_write(folder + "/results.jsonl", O_TRUNC));
  say("removes", unlink((folder + "/results.jsonl").c_str()) == 0);
  say("creates", can_write(folder + "/verdict.json", O_CREAT));
  say("replaces_library", rename(own.dli_fname, (folder + "/other.so").c_str()) == 0);
  const int port = std::atoi(first_line(folder + "/port").c_str());
  for (const auto& [name, address] : {std::pair("connects", "127.0.0.1"), {"reaches_outside", "192.0.2.1"}}) {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<std::uint16_t>(port));
    inet_pton(AF_INET, address, &to.sin_addr);
    const bool connected = connect(socket, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0;
    say(name, connected ? "yes" : std::strerror(errno));
    close(socket);
  }
  const int scratch = open("/tmp/fill", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  static char megabyte[1 << 20];
  long long filled = 0;
  ssize_t n = 0;
  while (filled < (1LL << 33) && (n = write(scratch, megabyte, sizeof megabyte)) > 0) filled += n;
  say("filled", filled);
  say("stopped_by", n < 0 ? std::strerror(errno) : "nothing");
  close(scratch);
}

// A grandchild in a session of its own, that ignores what it can; the call itself goes on to the worker's end.
void leave_a_daemon_and_die() {
  if (fork() == 0) {
    setsid();
    if (fork() != 0) _exit(0);
    for (int number = 1; number < 32; ++number) signal(number, SIG_IGN);
    prctl(PR_SET_PDEATHSIG, 0);
    while (true) pause();
  }
  usleep(20'000);
  std::abort();
}

// All that are made make more, and none ends by itself.
void storm() {
  for (int number = 1; number < 32; ++number) signal(number, SIG_IGN);
  while (true)
    if (fork() == 0) setsid();
}

assay_status entry(const assay_call*, assay_in, assay_out out) {
  switch (out->shape[out->ndim - 1]) {
    case 1:
      look();
      break;
    case 2:
      attack();
      break;
    case 3:
      damage();
      break;
    case 4:
      leave_a_daemon_and_die();
      break;
    case 5:
      storm();
      break;
    default:
      break;
  }
  std::fflush(stdout);
  return ASSAY_OK;
}

assay_variant describe() {
  assay_variant v{};
  v.size = sizeof v;
  v.device_type = kDLCPU;
  v.slot = "activation.silu_and_mul";
  v.id = "looks_around";
  v.entry.silu_and_mul = entry;
  return v;
}

}  // namespace

extern "C" ASSAY_EXPORT const assay_library* assay_get_library(std::uint32_t version) {
  static const assay_variant variant = describe();
  static const assay_variant* const variants[] = {&variant};
  static const assay_library library = {sizeof library, ASSAY_ABI_VERSION, "looks_around", "1.0", variants, 1};
  return version == ASSAY_ABI_VERSION ? &library : nullptr;
}
