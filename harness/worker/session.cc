#include "harness/worker/session.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>
#include <system_error>
#include <thread>
#include <vector>

#include "harness/case/json.hpp"
#include "harness/device/owned_fd.hpp"
#include "harness/worker/confinement.hpp"
#include "harness/worker/environment.hpp"
#include "harness/worker/isolation.hpp"
#include "harness/worker/protocol.hpp"
#include "harness/worker/spawn.hpp"
#include "harness/worker/worker.hpp"

namespace assay {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr int kHelloMs = 5000, kLoadMs = 10000, kMapMs = 10000, kOpenMs = 30000, kInitMs = 30000;
constexpr int kSupervisorMs = 10000;  // a GPU's driver takes its time with a killed process
constexpr std::size_t kOutputBytes = 64 * 1024;
constexpr std::size_t kReplyBytes = 64u << 20;

template <class T>
class Shared {
 public:
  Shared() : fd_(memfd_create("shared", MFD_CLOEXEC)) {
    if (fd_.get() < 0 || ftruncate(fd_.get(), sizeof(T)) != 0) throw WorkerUnavailable("cannot create a memory file");
    void* memory = mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0);
    if (memory == MAP_FAILED) throw WorkerUnavailable("cannot map a memory file");
    value_ = new (memory) T();
  }
  ~Shared() { munmap(value_, sizeof(T)); }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  T& operator*() noexcept { return *value_; }
  T* operator->() noexcept { return value_; }
  [[nodiscard]] int fd() const noexcept { return fd_.get(); }

 private:
  OwnedFd fd_;
  T* value_ = nullptr;
};

// A reply, read strictly: a worker holds candidate code, and what comes out of it may be anything.
struct Answer {
  bool failed = false;
  json body;

  [[nodiscard]] std::string word(const char* name) const {
    const auto at = body.find(name);
    return at != body.end() && at->is_string() ? at->get<std::string>() : std::string("the worker gave no reason");
  }
};

}  // namespace

struct WorkerSession::State {
  WorkerConfig config;
  Shared<BlackBox> box;
  Shared<Program> program;
  OwnedFd control, output;
  OwnedFd pidfd;
  pid_t pid = -1;
  std::thread thread;  // in-process runs
  bool alive = false;
  bool broken = false;  // the last question did not reach it
  std::uint32_t sequence = 0;
  Answer answer;        // the last one
  std::string refusal;  // its sentence, where it was refused
  std::vector<std::string> receipts;
  std::int64_t own_pid = -1;
  std::string description, device;
  NcclFacts nccl;
  std::string ring;

  [[nodiscard]] bool confined() const noexcept { return config.isolation && config.isolation->confines(); }
  void start();
  void drain_output();
  int kill_all();
  void end();
  Fault bury(bool deadline);
  void ask(Frame, std::string payload, std::vector<int> fds);
  void descriptors(std::vector<pollfd>&) const;
  Heard hear(const pollfd* waits);
  std::optional<Fault> command(Frame, std::string payload, std::vector<int> fds, int timeout_ms);
};

void WorkerSession::State::start() {
  int pair[2], pipes[2] = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
    throw WorkerUnavailable("cannot create a control socket");
  control = OwnedFd(pair[0]);
  OwnedFd theirs(pair[1]);
  if (config.in_process) {
    WorkerOptions options;
    options.control = dup(theirs.get());
    options.black_box = box.fd();
    options.program = program.fd();
    options.own_process = false;
    thread = std::thread([options] {
      serve(options);
      close(options.control);
    });
  } else {
    if (access(config.worker.c_str(), X_OK) != 0)
      throw WorkerUnavailable("no worker program at " + config.worker + "; build or install assay again");
    if (pipe2(pipes, O_CLOEXEC) != 0) throw WorkerUnavailable("cannot create a pipe");
    output = OwnedFd(pipes[0]);
    OwnedFd their_output(pipes[1]);
    fcntl(output.get(), F_SETFL, O_NONBLOCK);
    SpawnPlan plan;
    plan.output = their_output.get();
    plan.environment = worker_environment(
        config.environment, confined() ? std::optional(config.isolation->draw("environment")) : std::nullopt);
    // Fixed numbers, above what the dup2s could overwrite.
    plan.descriptors = {{theirs.get(), kGivenControl}, {box.fd(), kGivenBox}, {program.fd(), kGivenProgram}};
    try {
      OwnedFd told;
      if (confined()) {
        told = OwnedFd(pipe_with(to_text(config.isolation->confinement(config))));
        plan.program = config.isolation->supervisor();
        plan.words = {plan.program, kSuperviseWord};
        plan.signals = SpawnPlan::Signals::held;
        plan.descriptors.emplace_back(told.get(), kGivenConfinement);
        if (const int network = config.isolation->network(); network >= 0) plan.descriptors.emplace_back(network, kGivenNetwork);
        if (const int user = config.isolation->user_namespace(); user >= 0) plan.descriptors.emplace_back(user, kGivenUser);
      } else {
        plan.program = config.worker;
        plan.words = {config.worker, "--control", std::to_string(kGivenControl), "--black-box",
                      std::to_string(kGivenBox), "--program", std::to_string(kGivenProgram), "--data-limit",
                      std::to_string(config.device == DeviceType::host ? config.data_limit : 0)};
      }
      pid = spawn(std::move(plan));
    } catch (const std::system_error& error) {
      throw WorkerUnavailable(error.what());
    }
    pidfd = OwnedFd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  }
  own_pid = config.in_process ? getpid() : pid;
  theirs.reset();  // while this process holds the worker's end, a worker that dies at once looks slow
  alive = true;
  try {
    const auto hello = receive_message(control.get(), kHelloMs);
    if (!hello || hello->kind != Frame::hello) throw ProtocolError("no greeting came in time");
  } catch (const ProtocolError& error) {
    drain_output();
    const std::string said = ring.empty() ? "" : "; it said: " + ring.substr(0, std::min(ring.find('\n'), std::size_t{300}));
    end();
    throw WorkerUnavailable("the worker " + config.worker + " does not answer: " + error.what() + said);
  }
}

void WorkerSession::State::drain_output() {
  if (output.get() < 0) return;
  std::array<char, 4096> chunk;
  // Bounded: a candidate that floods its output must not keep the judge here.
  for (int i = 0; i < 64; ++i) {
    const ssize_t n = ::read(output.get(), chunk.data(), chunk.size());
    if (n <= 0) return;
    ring.append(chunk.data(), static_cast<std::size_t>(n));
    if (ring.size() > kOutputBytes) ring.erase(0, ring.size() - kOutputBytes);
  }
}

// Ends the worker and what belongs to it, and waits until nothing of it is left. How it ended.
int WorkerSession::State::kill_all() {
  if (confined()) {
    // A supervisor ends its own first, and is gone when they are.
    kill(pid, SIGTERM);
    pollfd gone{pidfd.get(), POLLIN, 0};
    while (poll(&gone, 1, kSupervisorMs) < 0 && errno == EINTR) {
    }
  }
  kill(-pid, SIGKILL);
  kill(pid, SIGKILL);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  pid = -1;
  return status;
}

void WorkerSession::State::end() {
  alive = false;
  if (config.in_process) {
    control.reset();
    if (thread.joinable()) thread.join();
    return;
  }
  if (pid > 0) static_cast<void>(kill_all());
  control.reset();
}

Fault WorkerSession::State::bury(bool deadline) {
  Ending ending;
  ending.deadline = deadline;
  int status = 0;
  if (pid > 0) {
    if (!deadline) {
      // The socket is closed: the process is ending. Give it a moment before it is called a hang.
      const auto until = Clock::now() + std::chrono::milliseconds(2000);
      pid_t done;
      while ((done = waitpid(pid, &status, WNOHANG)) == 0 && Clock::now() < until) usleep(100);
      if (done == 0) ending.deadline = true;
      if (done > 0) {
        kill(-pid, SIGKILL);
        pid = -1;
      }
    }
    if (pid > 0) status = kill_all();
  }
  ending.signalled = WIFSIGNALED(status);
  ending.signal = ending.signalled ? WTERMSIG(status) : 0;
  ending.exited = WIFEXITED(status);
  ending.status = ending.exited ? WEXITSTATUS(status) : 0;
  drain_output();
  alive = false;
  return blame(read(*box), ending);
}

void WorkerSession::State::ask(Frame kind, std::string payload, std::vector<int> fds) {
  Message message;
  message.kind = kind;
  message.sequence = ++sequence;
  message.payload = std::move(payload);
  message.descriptors = std::move(fds);
  broken = false;
  try {
    send_message(control.get(), message);
  } catch (const ProtocolError&) {
    broken = true;  // hear() says so
  }
}

void WorkerSession::State::descriptors(std::vector<pollfd>& list) const {
  for (const int fd : {control.get(), output.get(), pidfd.get()}) list.push_back({fd, POLLIN, 0});
}

// `waits`: the session's three, as poll left them.
WorkerSession::Heard WorkerSession::State::hear(const pollfd* waits) {
  if (broken) return Heard::ended;
  if (waits[1].revents & POLLIN) drain_output();
  if (waits[1].revents & POLLHUP) output.reset();
  try {
    if (waits[0].revents)
      if (auto got = receive_message(control.get(), 0)) {
        if (got->sequence != sequence || (got->kind != Frame::reply && got->kind != Frame::failed))
          throw ProtocolError("the worker's answer does not fit the question");
        for (int fd : got->descriptors) close(fd);
        answer.failed = got->kind == Frame::failed;
        try {
          answer.body = parse_strict(got->payload, "a worker's reply", kReplyBytes);
        } catch (const JsonError& error) {
          throw ProtocolError(error.what());
        }
        if (!answer.body.is_object()) throw ProtocolError("a worker's reply is no object");
        if (const auto lines = answer.body.find("receipts"); lines != answer.body.end())
          for (const json& line : *lines) receipts.push_back(line.is_string() ? line.get<std::string>() : line.dump());
        refusal = answer.failed ? answer.word("text") : std::string();
        return Heard::answer;
      }
  } catch (const ProtocolError&) {
    return Heard::ended;
  }
  return waits[2].revents ? Heard::ended : Heard::nothing;  // a forked child may keep the socket open
}

// One command and its answer, or the fault that ended the worker.
std::optional<Fault> WorkerSession::State::command(Frame kind, std::string payload, std::vector<int> fds,
                                                   int timeout_ms) {
  ask(kind, std::move(payload), std::move(fds));
  const auto until = Clock::now() + std::chrono::milliseconds(timeout_ms);
  std::vector<pollfd> waits;
  while (true) {
    waits.clear();
    descriptors(waits);
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
    if (left <= 0) {
      if (config.in_process) throw DeviceError("the in-process worker did not answer in time");
      return bury(true);
    }
    const int ready = poll(waits.data(), waits.size(), broken ? 0 : static_cast<int>(std::min<long long>(left, 1000)));
    if (ready < 0 && errno != EINTR) return bury(false);
    if (ready < 0 || (ready == 0 && !broken)) continue;
    switch (hear(waits.data())) {
      case Heard::nothing: continue;
      case Heard::answer: return std::nullopt;
      case Heard::ended: return bury(false);
    }
  }
}

std::uint64_t usual_data_limit() noexcept {
#ifdef ASSAY_NO_REFUSALS
  return 0;
#else
  return std::uint64_t{2} << 30;
#endif
}

WorkerSession::WorkerSession(WorkerConfig config) : state_(std::make_unique<State>()) {
  state_->config = std::move(config);
  state_->start();
}

WorkerSession::~WorkerSession() { state_->end(); }

std::optional<Fault> WorkerSession::open_device() {
  const json request{{"device", name_of(state_->config.device)}, {"ordinal", state_->config.ordinal}};
  if (auto fault = state_->command(Frame::open_device, request.dump(), {}, kOpenMs)) return fault;
  if (state_->answer.failed) throw DeviceError(state_->refusal);
  state_->device = state_->answer.word("describe");
  return std::nullopt;
}

std::optional<Fault> WorkerSession::load(const std::optional<LaunchTicket>& ticket) {
  const std::string& library = state_->config.library;
  json request{{"path", library.empty() || !state_->confined() ? library : absolute_path(library)}};
  if (ticket)
    request["launch"] = {{"scope", ticket->scope}, {"nonce", ticket->nonce}, {"key", ticket->key}, {"rank", ticket->rank},
                         {"world", ticket->world_size}};
  if (auto fault = state_->command(Frame::load, request.dump(), {}, kLoadMs)) return fault;
  if (state_->answer.failed) throw LibraryRefused(state_->answer.word("code"), state_->refusal);
  json& said = state_->answer.body;
  if (const auto nccl = said.find("nccl"); nccl != said.end()) {
    const auto word = [&](const char* name) {
      const auto at = nccl->find(name);
      return nccl->is_object() && at != nccl->end() && at->is_string() ? at->get<std::string>() : std::string();
    };
    state_->nccl = {word("path"), word("version")};
  }
  state_->description = canonical(said.value("library", json::object()));
  return std::nullopt;
}

std::optional<Fault> WorkerSession::map(std::uint32_t arena, const Arena& memory, Access access, Use use) {
  json request{{"arena", arena}, {"span", memory.plan().span}, {"writable", access == Access::read_write},
               {"shelf", use == Use::shelf}, {"hosted", use == Use::hosted}};
  request["chunks"] = json::array();
  for (const Chunk& c : memory.plan().chunks) request["chunks"].push_back({c.offset, c.bytes});
  if (auto fault = state_->command(Frame::map, request.dump(), use == Use::hosted ? std::vector<int>() : memory.descriptors(),
                                   kMapMs))
    return fault;
  if (state_->answer.failed) throw DeviceError(state_->refusal);
  return std::nullopt;
}

Fault WorkerSession::refused_init() const {
  const bool machine = state_->answer.word("code") == "device";
  Fault f;
  f.verdict = machine ? Verdict::no_decision : Verdict::fail;
  f.reason = machine ? Reason::harness : Reason::entry_failed;
  f.phase = Phase::init;
  f.text = state_->refusal;
  return f;
}

std::optional<Fault> WorkerSession::init(std::uint32_t variant, std::uint32_t group) {
  if (auto fault = state_->command(Frame::init, json{{"variant", variant}, {"group", group}}.dump(), {}, kInitMs)) return fault;
  if (state_->answer.failed) return refused_init();
  return std::nullopt;
}

std::optional<Fault> WorkerSession::run(int deadline_ms, const std::string& named) {
  if (auto fault = state_->command(Frame::run, named, {}, deadline_ms)) return fault;
  if (auto fault = disobeyed()) return fault;
  return left_behind();
}

// A worker that is itself runs any program to its first step that is not ok, and says which that is. What another
// answer means is for fresh workers to show: candidate code can write to the socket, and to the results.
std::optional<Fault> WorkerSession::disobeyed() const {
  const Program& p = *state_->program;
  const auto* const end = p.results + std::min(p.step_count, kMaxSteps);
  const auto* const bad = std::find_if(p.results, end, [](const ProgramResult& r) { return r.code != StepCode::ok; });
  Fault f;
  f.verdict = Verdict::no_decision;
  f.reason = Reason::harness;
  f.phase = Phase::trusted;
  if (state_->answer.failed)
    f.text = "the worker refused a program: " + state_->refusal;
  else if (bad != end && bad->code == StepCode::not_run)
    f.text = "the worker said that it had run a program, and had not run all of it";
  else
    return std::nullopt;
  f.step = static_cast<std::uint32_t>(bad == end ? 0 : bad - p.results);
  return f;
}

// A call that left processes behind is a fault, though the worker lives.
std::optional<Fault> WorkerSession::left_behind() {
  Program& p = *state_->program;
  for (std::uint32_t i = 0; i < p.step_count && i < kMaxSteps; ++i) {
    if (!p.results[i].children) continue;
    Ending ending;
    ending.fork_left = true;
    BoxReading box;
    box.phase = Phase::after_entry;
    box.step = i;
    state_->end();
    return blame(box, ending);
  }
  return std::nullopt;
}

void WorkerSession::ask_join(std::uint32_t group, std::uint64_t id, int rank, int world, std::vector<int> descriptors) {
  state_->ask(Frame::join, json{{"group", group}, {"id", id}, {"rank", rank}, {"world", world}}.dump(),
              std::move(descriptors));
}
void WorkerSession::ask_init(std::uint32_t variant, std::uint32_t group) {
  state_->ask(Frame::init, json{{"variant", variant}, {"group", group}}.dump(), {});
}
void WorkerSession::ask_run(const std::string& named) { state_->ask(Frame::run, named, {}); }
std::vector<std::string> WorkerSession::take_receipts() { return std::exchange(state_->receipts, {}); }
std::int64_t WorkerSession::pid() const noexcept { return state_->own_pid; }
void WorkerSession::descriptors(std::vector<pollfd>& list) const { state_->descriptors(list); }
WorkerSession::Heard WorkerSession::hear() {
  std::vector<pollfd> waits;
  state_->descriptors(waits);
  poll(waits.data(), waits.size(), 0);
  return state_->hear(waits.data());
}
const std::string& WorkerSession::refusal() const noexcept { return state_->refusal; }
BoxReading WorkerSession::box() const noexcept { return read(*state_->box); }
Fault WorkerSession::bury(bool ended) { return state_->bury(!ended); }

Program& WorkerSession::program() noexcept { return *state_->program; }
const std::string& WorkerSession::description() const noexcept { return state_->description; }
const NcclFacts& WorkerSession::nccl() const noexcept { return state_->nccl; }
const std::string& WorkerSession::device_description() const noexcept { return state_->device; }
bool WorkerSession::alive() const noexcept { return state_->alive; }
std::string WorkerSession::output() const {
  state_->drain_output();
  return state_->ring;
}

}  // namespace assay
