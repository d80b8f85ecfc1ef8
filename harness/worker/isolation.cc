#include "harness/worker/isolation.hpp"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <set>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>

#include "harness/tensor/philox.hpp"
#include "harness/worker/confinement.hpp"
#include "harness/worker/protocol.hpp"
#include "harness/worker/session.hpp"
#include "harness/worker/spawn.hpp"

namespace assay {
namespace {

constexpr std::pair<IsolationLevel, std::string_view> kLevels[] = {{IsolationLevel::in_process, "in-process"},
                                                                   {IsolationLevel::trusting, "trusting"},
                                                                   {IsolationLevel::user, "user"},
                                                                   {IsolationLevel::namespaces, "namespaces"}};

constexpr int kMakeMs = 5000;

// systemd's range of dynamic users: nobody's by convention.
constexpr std::int64_t kFirstUid = 61184, kLastUid = 65519;

std::set<std::int64_t> users_of_processes() {
  std::set<std::int64_t> users;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", none)) {
    struct stat info = {};
    if (std::isdigit(static_cast<unsigned char>(entry.path().filename().string().front())) &&
        stat(entry.path().c_str(), &info) == 0)
      users.insert(info.st_uid);
  }
  return users;
}

// An abstract socket's name is one process's, until that ends however it ends.
OwnedFd claim(std::int64_t uid) {
  OwnedFd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  const std::string text = "assay-user-" + std::to_string(uid);
  std::memcpy(name.sun_path + 1, text.data(), text.size());
  const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  if (socket.get() >= 0 && bind(socket.get(), reinterpret_cast<const sockaddr*>(&name), bytes) != 0) return OwnedFd();
  return socket;
}

// A user that no account and no process has, and no other run takes meanwhile; -1: none is free.
std::int64_t free_user(OwnedFd& lock) {
  const std::set<std::int64_t> busy = users_of_processes();
  constexpr std::int64_t count = kLastUid - kFirstUid + 1;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t uid = kFirstUid + (static_cast<std::int64_t>(getpid()) + i) % count;
    if (busy.count(uid)) continue;
    lock = claim(uid);
    if (lock.get() < 0) continue;
    if (!getpwuid(static_cast<uid_t>(uid)) && !getgrgid(static_cast<gid_t>(uid))) return uid;
  }
  lock.reset();
  return -1;
}

// What a supervisor said when it gave up.
std::string reason_in(const std::string& said) {
  const auto at = said.find(kIsolationFailed);
  if (at == std::string::npos) return said;
  const auto begin = at + std::strlen(kIsolationFailed);
  return said.substr(begin, said.find('\n', begin) - begin);
}

// A process of an inference server, as its neighbours see it.
const std::array<std::vector<std::string>, 4> kOnlookersSee{{
    {"/usr/bin/python3", "-m", "vllm.entrypoints.openai.api_server", "--model", "/models/llm", "--port", "8000"},
    {"python3", "-m", "sglang.launch_server", "--model-path", "/models/llm", "--host", "0.0.0.0"},
    {"/opt/tritonserver/bin/tritonserver", "--model-repository=/models"},
    {"python", "/usr/local/bin/trtllm-serve", "/models/llm", "--port", "8000"},
}};

std::vector<std::string> split_paths(const char* list) {
  std::vector<std::string> paths;
  std::string text = list ? list : "";
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(':', begin), text.size());
    if (end > begin && text[begin] == '/') paths.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return paths;
}

}  // namespace

std::string_view name_of(IsolationLevel level) noexcept {
  for (const auto& [l, name] : kLevels)
    if (l == level) return name;
  return "unknown";
}

IsolationLevel isolation_level_from(std::string_view name) {
  for (const auto& [level, n] : kLevels)
    if (n == name) return level;
  throw std::invalid_argument("no isolation level: " + std::string(name));
}

std::string absolute_path(std::string path) {
  while (path.rfind("./", 0) == 0) path.erase(0, 2);
  return std::filesystem::absolute(path).string();
}

Isolation::~Isolation() = default;

std::string Isolation::text() const {
  std::string text(name_of(level_));
  const std::string who = uid_ >= 0 ? "uid" : "user namespace";
  if (level_ == IsolationLevel::user) text += ": uid, no_new_privs, rlimits";
  if (level_ == IsolationLevel::namespaces) text += ": " + who + ", no_new_privs, rlimits, pid, mount, net, ipc";
  return missing_.empty() ? text : text + (level_ == IsolationLevel::trusting ? ": " : "; ") + missing_;
}

std::shared_ptr<const Isolation> Isolation::establish(const std::string& supervisor, std::uint64_t seed) {
  auto made = [&] {
    std::shared_ptr<Isolation> i(new Isolation);
    i->supervisor_ = supervisor;
    i->seed_ = seed;
    return i;
  };
  std::string why;
  const auto note = [&](const std::string& reason) { why += (why.empty() ? "" : "; ") + reason; };
  OwnedFd lock;
  const bool root = geteuid() == 0;
  const std::int64_t uid = root ? free_user(lock) : -1;
  if (root && uid < 0) note("no user id of 61184 to 65519 is free");
  for (const std::int64_t who : {uid, std::int64_t{-1}}) {
    auto isolation = made();
    const std::string refused = isolation->try_namespaces(who);
    if (refused.empty()) {
      if (who >= 0) isolation->uid_lock_ = std::move(lock);
      return isolation;
    }
    note((who >= 0 ? "no namespaces under another user: " : "no user namespace: ") + refused);
    if (uid < 0) break;
  }
  if (uid >= 0) {
    auto isolation = made();
    const std::string refused = isolation->try_user(uid);
    if (refused.empty()) {
      isolation->uid_lock_ = std::move(lock);
      isolation->missing_ = why;
      return isolation;
    }
    note("no other user: " + refused);
  } else if (!root) {
    note("no other user: this is not root");
  }
  auto isolation = made();
  isolation->missing_ = why;
  return isolation;
}

std::string Isolation::try_namespaces(std::int64_t uid) {
  uid_ = uid;
  level_ = IsolationLevel::namespaces;
  if (std::string refused = make_network(uid); !refused.empty()) return refused;
  return start_one();
}

std::string Isolation::try_user(std::int64_t uid) {
  uid_ = uid;
  level_ = IsolationLevel::user;
  return start_one();
}

// Where no namespace bounds what a worker leaves behind, its user does: one each, used again when many others were.
std::int64_t Isolation::another_user() const {
  const std::lock_guard lock(mutex_);
  constexpr std::size_t kUsers = 64;  // more than there are ranks and spare workers at once
  if (users_.size() < kUsers) {
    OwnedFd claimed;
    if (const std::int64_t uid = free_user(claimed); uid >= 0) users_.emplace_back(uid, std::move(claimed));
  }
  if (users_.empty()) throw WorkerUnavailable("no user id of 61184 to 65519 is free for another worker");
  return users_[next_user_++ % users_.size()].first;
}

std::string Isolation::make_network(std::int64_t uid) {
  Confinement task;
  task.task = Confinement::Task::make_network;
  task.uid = uid;
  int pair[2], pipes[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) return "cannot create a socket";
  const OwnedFd ours(pair[0]);
  OwnedFd theirs(pair[1]);
  if (pipe2(pipes, O_CLOEXEC) != 0) return "cannot create a pipe";
  const OwnedFd output(pipes[0]);
  OwnedFd their_output(pipes[1]);
  try {
    const OwnedFd told(pipe_with(to_text(task)));
    const pid_t pid = spawn({supervisor_,
                             {supervisor_, kSuperviseWord},
                             {},
                             {{theirs.get(), kGivenControl}, {told.get(), kGivenConfinement}},
                             their_output.get()});
    theirs.reset();
    their_output.reset();
    std::optional<Message> answer;
    try {
      answer = receive_message(ours.get(), kMakeMs);
    } catch (const ProtocolError&) {
    }
    kill(pid, SIGKILL);
    while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
    if (answer && !answer->descriptors.empty()) {
      network_ = OwnedFd(answer->descriptors[0]);
      if (answer->descriptors.size() > 1) user_ = OwnedFd(answer->descriptors[1]);
      return {};
    }
    char said[1024];
    const ssize_t n = ::read(output.get(), said, sizeof said);
    return n > 0 ? reason_in(std::string(said, static_cast<std::size_t>(n)))
                 : supervisor_ + " makes no network namespace";
  } catch (const std::system_error& error) {
    return error.what();
  }
}

std::string Isolation::start_one() {
  WorkerConfig config;
  config.worker = supervisor_;
  config.data_limit = usual_data_limit();
  // Not owned: the worker is gone before this returns.
  config.isolation = std::shared_ptr<const Isolation>(std::shared_ptr<const Isolation>(), this);
  try {
    const WorkerSession session(config);
    return {};
  } catch (const WorkerUnavailable& refused) {
    return reason_in(refused.what());
  }
}

std::uint64_t Isolation::draw(std::string_view what) const { return derive_key(seed_, what, started_); }

Confinement Isolation::confinement(const WorkerConfig& config) const {
  Confinement c;
  // Ranks on a GPU share memory files that NCCL opens to its own user only.
  c.user_of_its_own = level_ == IsolationLevel::user && config.device == DeviceType::host;
  c.uid = c.user_of_its_own ? another_user() : uid_;
  c.namespaces = level_ == IsolationLevel::namespaces;
  c.program = absolute_path(config.worker);
  if (!config.library.empty()) c.library = absolute_path(config.library);
  c.folders = split_paths(std::getenv("LD_LIBRARY_PATH"));
  c.data_limit = config.device == DeviceType::host ? config.data_limit : 0;
  // A thread a core for each of a set's ranks and the spare ones; a storm of forks ends there.
  c.processes = 512 + 32 * std::uint64_t{std::max(1u, std::thread::hardware_concurrency())};
  c.words = kOnlookersSee[derive_key(seed_, "onlookers see", started_++) % kOnlookersSee.size()];
  return c;
}

}  // namespace assay
