#include "harness/worker/worker.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <thread>

#include "harness/capability/library_table.hpp"
#include "harness/case/digest.hpp"
#include "harness/device/cuda/cuda_device.hpp"
#include "harness/device/host/host_device.hpp"
#include "harness/worker/black_box.hpp"
#include "harness/worker/confinement.hpp"
#include "harness/worker/crash.hpp"
#include "harness/worker/executor.hpp"
#include "harness/worker/group.hpp"
#include "harness/worker/library.hpp"
#include "harness/worker/nccl.hpp"
#include "harness/worker/protocol.hpp"
#include "harness/worker/supervisor.hpp"

namespace assay {
namespace {

using nlohmann::json;

template <class T>
T* map_shared(int fd) {
  void* memory = mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<T*>(memory);
}

// Ends the processes that the candidate left behind and counts them. This worker is their subreaper.
std::uint32_t end_children() {
  std::uint32_t count = 0;
  for (int round = 0; round < 64; ++round) {
    int status = 0;
    const pid_t done = waitpid(-1, &status, WNOHANG);
    if (done < 0) return count;  // none is left
    if (done > 0) {
      ++count;
      continue;
    }
    char path[64];
    std::snprintf(path, sizeof path, "/proc/self/task/%d/children", static_cast<int>(getpid()));
    bool found = false;
    if (FILE* list = std::fopen(path, "re")) {
      int pid;
      while (std::fscanf(list, "%d", &pid) == 1) found = kill(pid, SIGKILL) == 0 || found;
      std::fclose(list);
    }
    // A child of the candidate thread is listed under that thread.
    std::snprintf(path, sizeof path, "/proc/self/task/%d/children", static_cast<int>(gettid()));
    if (FILE* list = std::fopen(path, "re")) {
      int pid;
      while (std::fscanf(list, "%d", &pid) == 1) found = kill(pid, SIGKILL) == 0 || found;
      std::fclose(list);
    }
    if (!found) usleep(200);
  }
  return count + 1;
}

class Worker {
 public:
  Worker(const WorkerOptions& options, BlackBox& box, Program& program)
      : options_(options), box_(box), program_(program), own_pid_(getpid()) {
    struct stat info = {};
    fstat(options.control, &info);
    control_inode_ = info.st_ino;
  }

  int run() {
    Message hello;
    hello.kind = Frame::hello;
    hello.payload = json{{"abi", ASSAY_ABI_VERSION}, {"pid", static_cast<int>(own_pid_)}}.dump();
    send_message(options_.control, hello);
    while (true) {
      std::optional<Message> message;
      try {
        message = receive_message(options_.control, -1);
      } catch (const ProtocolError&) {
        // A socket that the candidate closed is not the judge's end: the candidate thread says so after its entry.
        while (options_.own_process && !control_ok()) pause();
        if (options_.own_process) _exit(0);  // the judge is gone; the candidate thread may be anywhere
        return 0;
      }
      if (message->kind == Frame::quit) {
        if (options_.own_process) _exit(0);
        return 0;
      }
      hand_over(std::move(*message));
    }
  }

  void candidate_loop() {
    if (options_.own_process) use_alternate_stack();
    while (auto message = take()) answer(*message);
  }

  void stop() {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    ready_.notify_one();
  }

 private:
  void hand_over(Message message) {
    {
      std::lock_guard lock(mutex_);
      next_ = std::move(message);
    }
    ready_.notify_one();
  }

  std::optional<Message> take() {
    std::unique_lock lock(mutex_);
    ready_.wait(lock, [&] { return next_.has_value() || stopping_; });
    if (!next_) return std::nullopt;
    std::optional<Message> message = std::move(next_);
    next_.reset();
    return message;
  }

  void answer(const Message& message) {
    Message reply;
    reply.sequence = message.sequence;
    try {
      reply.payload = with_receipts(obey(message));
    } catch (const LoadFailure& failure) {
      reply.kind = Frame::failed;
      reply.payload = with_receipts(json{{"code", failure.code()}, {"text", failure.what()}});
    } catch (const DeviceError& error) {
      reply.kind = Frame::failed;
      reply.payload =
          json{{"code", "device"}, {"text", error.what()}}.dump(-1, ' ', false, json::error_handler_t::replace);
    } catch (const std::exception& error) {
      reply.kind = Frame::failed;
      reply.payload =
          json{{"code", "failed"}, {"text", error.what()}}.dump(-1, ' ', false, json::error_handler_t::replace);
    }
    for (int fd : message.descriptors) close(fd);
    box_.phase = static_cast<std::uint32_t>(Phase::trusted);
    try {
      send_message(options_.control, reply);
    } catch (const ProtocolError&) {
      if (!control_ok()) box_.control_lost = 1;
      if (options_.own_process) _exit(71);
    }
  }

  std::string with_receipts(json body) {
    if (const std::vector<std::string> lines = mint_.take(); !lines.empty()) body["receipts"] = lines;
    return body.dump(-1, ' ', false, json::error_handler_t::replace);
  }

  json obey(const Message& message) {
    switch (message.kind) {
      case Frame::open_device: return open_device(json::parse(message.payload));
      case Frame::map: return map(json::parse(message.payload), message.descriptors);
      case Frame::load: return load(json::parse(message.payload));
      case Frame::join: return join(json::parse(message.payload), message.descriptors);
      case Frame::init: {
        const json request = json::parse(message.payload);
        need_executor().init_variant(request.at("variant"), request.at("group"));
        return json::object();
      }
      case Frame::run:
        need_executor().run(program_, named_calls(message.payload));
        return json::object();
      default: throw std::runtime_error("unexpected frame");
    }
  }

  json open_device(const json& request) {
    const DeviceType type = device_from(request.at("device").get<std::string>());
    executor_.reset();
    if (type == DeviceType::cuda) {
      const int ordinal = request.at("ordinal");
      device_ = make_cuda_device(ordinal);
      memory_ = make_cuda_memory(ordinal);
    } else {
      HostHooks hooks;
      hooks.context = &box_;
      hooks.kernel_enter = [](void* box) {
        static_cast<BlackBox*>(box)->phase = static_cast<std::uint32_t>(Phase::host_kernel);
      };
      hooks.kernel_leave = [](void* box) {
        static_cast<BlackBox*>(box)->phase = static_cast<std::uint32_t>(Phase::waiting);
      };
      device_ = make_host_device(hooks);
      memory_ = make_host_memory();
    }
    return {{"describe", device_->describe()}};
  }

  json map(const json& request, const std::vector<int>& descriptors) {
    if (!memory_) throw std::runtime_error("no device is open");
    ArenaPlan plan;
    plan.span = request.at("span");
    for (const auto& chunk : request.at("chunks")) plan.chunks.push_back({chunk.at(0), chunk.at(1)});
    const std::uint32_t id = request.at("arena");
    const bool writable = request.at("writable");
    // Graphs that are left from an earlier trial may hold on to the memory, and NCCL may have registered it for them.
    if (request.at("hosted") && arenas_.count(id)) static_cast<void>(device_->reset());  // the next program says how it went
    forget(id);
    WorkerArena arena;
    arena.span = plan.span;
    if (request.at("shelf")) {
      arena.trusted = make_host_memory()->map(plan, descriptors, Access::read_write);
      if (const Outcome o = device_->share_host(arena.trusted->base(), plan.span); !o.ok())
        throw std::runtime_error(o.text);
    } else {
      const Access access = writable ? Access::read_write : Access::read_only;
      if (request.at("hosted")) {
        HostedArena hosted = memory_->host(plan, access);
        arena.candidate = std::move(hosted.candidate);
        arena.trusted = std::move(hosted.trusted);
      } else {
        arena.candidate = memory_->map(plan, descriptors, access);
        arena.trusted = memory_->map(plan, descriptors, Access::read_write);
      }
      if (options_.own_process) note_arena(id, arena.candidate->base(), plan.span);
    }
    arenas_[id] = std::move(arena);
    return json::object();
  }

  void forget(std::uint32_t id) {
    const auto arena = arenas_.find(id);
    if (arena == arenas_.end()) return;
    if (!arena->second.candidate) device_->unshare_host(arena->second.trusted->base());
    arenas_.erase(arena);
  }

  // The control collective answers before the candidate may call anything: a red one is no candidate's.
  json join(const json& request, const std::vector<int>& descriptors) {
    if (!device_) throw std::runtime_error("no device is open");
    if (descriptors.empty()) throw std::runtime_error("a group needs its shared memory");
    const Membership who{request.at("id"), request.at("rank"), request.at("world")};
    std::unique_ptr<Group> group;
    if (device_->type() == DeviceType::host) {
      group = make_host_group(who, descriptors.front(), box_);
    } else {
      std::unique_ptr<Communicator> communicator;
      if (const auto nccl = loaded_nccl()) communicator = make_communicator(nccl->api, memory_->ordinal());
      group = make_device_group(who, descriptors.front(), {descriptors.begin() + 1, descriptors.end()}, box_,
                                make_cuda_memory(memory_->ordinal()), std::move(communicator));
    }
    // On a GPU the control runs kernels that wait for each other: the judge asks for it when it is its turn.
    if (device_->type() == DeviceType::host)
      if (const Outcome control = group->control(); !control.ok()) throw DeviceError(control.text);
    groups_[request.at("group")] = std::move(group);
    return json::object();
  }

  // Empty where the judge has all the receipts that such a program can earn.
  static std::optional<NamedCalls> named_calls(const std::string& payload) {
    if (payload.empty()) return std::nullopt;
    const json request = json::parse(payload);
    NamedCalls named;
    named.contract_digest = request.at("contract");
    for (const json& call : request.at("calls")) named.descriptors[call.at(0)] = call.at(1);
    return named;
  }

  json load(const json& request) {
    const std::string path = request.at("path");
    if (const auto launch = request.find("launch"); launch != request.end())
      mint_.open({launch->at("scope"), launch->at("nonce"), launch->at("key"), launch->at("rank"), launch->at("world")},
                 sha256_of_file(path.empty() ? "/proc/self/exe" : path), device_ ? device_->describe() : "");
    box_.phase = static_cast<std::uint32_t>(Phase::load);
    try {
      library_ = open_library(path);
    } catch (const LoadFailure& failure) {
      mint_.mint(ReceiptKind::load_failed, {}, {{"reason", failure.code()}});
      throw;
    }
    const LibraryDescription description = describe(library_);
    box_.phase = static_cast<std::uint32_t>(Phase::trusted);
    // Names as they are now: what the table says later binds nobody.
    std::vector<CallReceipts::VariantName> names;
    std::set<std::string> slots;
    for (const VariantDescription& v : description.variants) {
      names.push_back({v.slot.value.value_or(""), v.id.value.value_or("")});
      if (!names.back().slot.empty()) slots.insert(names.back().slot);
    }
    receipts_.emplace(mint_, std::move(names));
    if (slots.empty())
      mint_.mint(ReceiptKind::load_failed, {}, {{"reason", "no slot is offered"}});
    else
      mint_.mint(ReceiptKind::active, {}, {{"slots", std::vector<std::string>(slots.begin(), slots.end())}});
    json said{{"library", describe_json(description)}};
    if (const auto nccl = loaded_nccl()) said["nccl"] = {{"path", nccl->path}, {"version", nccl->version}};
    return said;
  }

  Executor& need_executor() {
    if (!executor_) {
      if (!device_ || !library_) throw std::runtime_error("no device or no library is open");
      executor_ = std::make_unique<Executor>(*device_, box_, arenas_, groups_, *library_, *receipts_);
      if (options_.own_process) {
        executor_->children_left = [this]() -> std::uint32_t {
          if (getpid() != own_pid_) _exit(0);  // a forked copy that came back from the entry
          return end_children();
        };
        executor_->control_ok = [this] { return control_ok(); };
      }
    }
    return *executor_;
  }

  bool control_ok() const {
    struct stat info = {};
    return fstat(options_.control, &info) == 0 && info.st_ino == control_inode_;
  }

  WorkerOptions options_;
  BlackBox& box_;
  Program& program_;
  const pid_t own_pid_;
  ino_t control_inode_ = 0;

  std::mutex mutex_;
  std::condition_variable ready_;
  std::optional<Message> next_;
  bool stopping_ = false;

  std::map<std::uint32_t, std::unique_ptr<Group>> groups_;  // from 1 on; outlive what is queued on the device
  std::unique_ptr<Device> device_;
  std::unique_ptr<MemoryDomain> memory_;
  std::map<std::uint32_t, WorkerArena> arenas_;
  const assay_library* library_ = nullptr;
  ReceiptMint mint_;
  std::optional<CallReceipts> receipts_;  // from the load on
  std::unique_ptr<Executor> executor_;
};

void* candidate_thread(void* worker) {
  static_cast<Worker*>(worker)->candidate_loop();
  return nullptr;
}

}  // namespace

int serve(const WorkerOptions& options) {
  BlackBox* box = map_shared<BlackBox>(options.black_box);
  Program* program = map_shared<Program>(options.program);
  if (!box || !program) return 72;
  constexpr std::size_t stack_bytes = 8u << 20, guard_bytes = 64u << 10;
  if (options.own_process) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    limit_data(options.data_limit);
    if (options.note_refusals) options.note_refusals(&box->refused_allocation);
    install_crash_handlers(box);
  }
  Worker worker(options, *box, *program);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, stack_bytes);
  pthread_attr_setguardsize(&attributes, guard_bytes);
  pthread_t thread;
  if (pthread_create(&thread, &attributes, candidate_thread, &worker) != 0) return 73;
  pthread_attr_destroy(&attributes);
  if (options.own_process) {
    pthread_attr_t actual;
    void* low = nullptr;
    std::size_t bytes = 0;
    if (pthread_getattr_np(thread, &actual) == 0) {
      pthread_attr_getstack(&actual, &low, &bytes);
      pthread_attr_destroy(&actual);
      note_candidate_stack(low, guard_bytes);
    }
  }
  const int status = worker.run();
  worker.stop();
  pthread_join(thread, nullptr);
  return status;
}

namespace {

// A supervisor started this one: its descriptors stand where they always do, and its words are for onlookers.
bool is_confined(int argc, char** argv) {
  struct stat control = {}, box = {};
  return (argc < 2 || std::strcmp(argv[1], "--control") != 0) && fstat(kOwnControl, &control) == 0 &&
         S_ISSOCK(control.st_mode) && fstat(kOwnBox, &box) == 0 && S_ISREG(box.st_mode);
}

void settle_in(const char* name) {
  const char* const slash = std::strrchr(name, '/');
  prctl(PR_SET_NAME, slash ? slash + 1 : name);
  // Without a pid namespace of its own, other workers of this user are in reach, and this one is in theirs.
  if (getppid() != 1) prctl(PR_SET_DUMPABLE, 0);
}

}  // namespace

int worker_main(int argc, char** argv, void (*note_refusals)(std::atomic<std::uint32_t>*)) {
  WorkerOptions options;
  options.note_refusals = note_refusals;
  if (argc == 2 && std::strcmp(argv[1], kSuperviseWord) == 0) supervise(argc, argv);
  if (argc > 0 && is_confined(argc, argv)) {
    settle_in(argv[0]);
    options.control = kOwnControl;
    options.black_box = kOwnBox;
    options.program = kOwnProgram;
    return serve(options);
  }
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    if (name == "--control") options.control = std::atoi(argv[i + 1]);
    else if (name == "--black-box") options.black_box = std::atoi(argv[i + 1]);
    else if (name == "--program") options.program = std::atoi(argv[i + 1]);
    else if (name == "--data-limit") options.data_limit = std::strtoull(argv[i + 1], nullptr, 10);
  }
  if (options.control < 0 || options.black_box < 0 || options.program < 0) {
    std::fprintf(stderr, "This program is started by assay; run `assay check LIBRARY` instead.\n");
    return 2;
  }
  return serve(options);
}

}  // namespace assay
