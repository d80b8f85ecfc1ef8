// host_model.hpp: the state behind the host device: queues, marks, captures, graphs. Internal to this folder.
//
// Promises: one mutex guards everything; kernels and trusted work run without it. A stream's operations run in FIFO
// order and one at a time, whoever drains it. Waiting always ends: dependencies point to earlier records only, and a
// held stream in the way is reported, not waited for.
// Who calls it: host_device.cc for the program (trusted), candidate_api.cc for candidates.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <variant>
#include <vector>

#include "assay/abi.h"
#include "harness/device/host/block_order.hpp"
#include "harness/device/host/host_device.hpp"
#include "harness/device/host/scratch_pool.hpp"

namespace assay::host {

struct Stream;
struct Capture;
using Lock = std::unique_lock<std::mutex>;

// A point in a stream. Without a stream it is the gate of a held stream, which only the program opens.
struct Mark {
  bool done = false;
  Stream* stream = nullptr;
};

// The copy of a launch's arguments: exactly its bytes, so that a sanitizer sees a kernel read past them.
class ArgumentBlock {
 public:
  ArgumentBlock() = default;
  ArgumentBlock(const void* args, std::size_t bytes);
  [[nodiscard]] ArgumentBlock clone() const { return {memory_.get(), bytes_}; }
  [[nodiscard]] const void* data() const noexcept { return memory_.get(); }

 private:
  struct Free {
    void operator()(std::byte*) const noexcept;
  };
  std::unique_ptr<std::byte, Free> memory_;
  std::size_t bytes_ = 0;
};

struct KernelLaunch {
  assay_host_kernel kernel = nullptr;
  std::uint32_t blocks = 0;
  ArgumentBlock args;
};
using Trusted = std::function<void()>;
using Work = std::variant<KernelLaunch, Trusted>;

using Frontier = std::vector<std::uint32_t>;  // the nodes that the next node of a stream depends on

struct Node {
  Work work;
  Frontier needs;     // earlier nodes
  bool side = false;  // captured from another stream than the one whose capture began
};

struct Graph {
  std::vector<Node> nodes;
  std::vector<std::shared_ptr<std::byte>> scratch;  // given to calls while they were captured

  // Positions in the order in which a replay runs them: dependencies first, then side nodes first or last.
  [[nodiscard]] std::vector<std::uint32_t> order(bool side_first) const;
  // node and everything that it depends on
  void reach(std::uint32_t node, std::vector<bool>& reached) const;
};

struct GraphLaunch {
  std::shared_ptr<const Graph> graph;
  std::vector<std::uint32_t> order;
};
struct Record {
  std::shared_ptr<Mark> mark;
};
struct Wait {
  std::shared_ptr<Mark> mark;
};

struct Operation {
  std::variant<KernelLaunch, Trusted, GraphLaunch, Record, Wait> what;
  BlockOrder order;  // of the launch, or of the first node of a graph
};

struct Stream {
  enum class Owner { program, candidate, load };
  Owner owner = Owner::program;
  bool alive = true;  // false: its owner destroyed it, and what it holds still runs
  bool busy = false;  // one of its operations is running
  std::deque<Operation> queue;
  std::shared_ptr<Mark> gate;        // of the hold in force
  std::shared_ptr<Capture> capture;  // that it belongs to
  [[nodiscard]] bool idle() const noexcept { return !busy && queue.empty(); }
};

struct Event {
  std::shared_ptr<Mark> mark;        // of the last record, outside capture
  std::shared_ptr<Capture> capture;  // in which the last record was made
  Frontier frontier;                 // of the recording stream at that record
};

struct Capture {
  Stream* origin = nullptr;
  CaptureMode mode = CaptureMode::global;
  std::thread::id thread;
  std::map<Stream*, Frontier> members;
  Graph graph;
  std::string illegal;  // what invalidated it
  bool ended = false;
};

class Model {
 public:
  explicit Model(HostHooks hooks) : hooks_(hooks) {}
  ~Model();
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  // ---- the program's side: host_device.cc ----
  void schedule(const Schedule&);
  Outcome reset();
  void abandon_captures();
  Stream* program_stream(std::uint32_t index);
  assay_host_stream* handle_of(std::uint32_t index);
  Outcome submit(std::uint32_t stream, Trusted work);
  Outcome load(std::uint32_t stream);
  Outcome record(std::uint32_t event, std::uint32_t stream);
  Outcome wait(std::uint32_t stream, std::uint32_t event);
  Outcome hold(std::uint32_t stream);
  Outcome unhold(std::uint32_t stream);
  Outcome sync(std::uint32_t stream);
  Outcome sync_device();
  Outcome verdict_on_call();
  [[nodiscard]] std::uint64_t enqueued() const noexcept { return enqueued_; }
  Outcome begin_capture(std::uint32_t stream, CaptureMode);
  Outcome end_capture(std::uint32_t stream, std::uint32_t graph, GraphInventory&);
  Outcome launch(std::uint32_t graph, std::uint32_t stream);
  Outcome drop_graph(std::uint32_t graph);
  Outcome usage(DeviceUsage&);
  Outcome scratch(std::size_t bytes, void** memory);

  // ---- the candidate's side: candidate_api.cc. A NULL stream is the legacy stream. ----
  Outcome launch(assay_host_stream*, assay_host_kernel, std::uint32_t blocks, const void* args, std::size_t bytes);
  Outcome launch_trusted(assay_host_stream*, Trusted);
  Outcome stream_create(assay_host_stream**);
  Outcome stream_destroy(assay_host_stream*);
  Outcome event_create(assay_host_event**);
  Outcome event_destroy(assay_host_event*);
  Outcome event_record(assay_host_event*, assay_host_stream*);
  Outcome stream_wait(assay_host_stream*, assay_host_event*);
  Outcome synchronize(assay_host_stream*);
  Outcome allocate(void**, std::size_t bytes);
  Outcome release(void*);
  // Kept until verdict_on_call; the first one wins, later ones are often its consequences.
  void blame(const Outcome&);
  // True on a thread that is inside a kernel, from where no call into the model is legal.
  [[nodiscard]] static bool inside_kernel() noexcept;

 private:
  // Counts the threads that drain, during which no stream may be erased.
  class Draining;

  // queue.cc
  Stream* add_stream(Stream::Owner owner);
  BlockOrder next_order(std::uint64_t launches);
  void enqueue(Lock&, Stream&, Operation);
  void pump(Lock&, const Stream* last);
  Stream* runnable(const Stream* last);
  bool demand(Lock&, Stream&, const Mark* goal);
  bool drain_all(Lock&);
  bool drain_on_threads(Lock&);
  void drain_one_on_thread(Stream&);
  [[nodiscard]] bool gate_in_the_way() const;
  [[nodiscard]] bool all_idle() const;
  void run_front(Lock&, Stream&);
  void run_load(Lock&);
  void run(const Operation&) noexcept;
  void run_work(const Work&, BlockOrder) noexcept;
  void run_kernel(const KernelLaunch&, const void* args, BlockOrder) noexcept;
  void erase_finished_streams();
  Outcome after_sync();

  // capture.cc
  void add_node(Stream&, Work);
  void record(Lock&, Stream*, Event&);
  Outcome wait(Lock&, Stream*, const Event&);
  bool illegal_in_capture(const char* what, const Stream*);
  Graph close_capture(const std::shared_ptr<Capture>&);
  void close_captures();  // the caller holds the lock

  // candidate_api.cc
  Outcome find(assay_host_stream*, Stream**) const;
  Outcome find(assay_host_event*, Event**);

  HostHooks hooks_;
  std::mutex mutex_;
  std::condition_variable changed_;  // an operation finished
  Schedule schedule_;
  std::uint64_t launches_ = 0;  // since the schedule was set
  std::atomic<std::uint64_t> enqueued_{0};  // by candidates
  int draining_ = 0;
  bool abandoned_ = false;  // threads could not be started: those that were, stop
  std::vector<std::unique_ptr<Stream>> streams_;
  std::vector<std::shared_ptr<Capture>> captures_;  // open ones
  Stream* load_ = nullptr;

  std::map<std::uint32_t, Stream*> program_streams_;
  std::map<std::uint32_t, Event> program_events_;
  std::map<std::uint32_t, std::shared_ptr<const Graph>> graphs_;

  std::unordered_map<const assay_host_stream*, Stream*> stream_handles_;
  std::unordered_map<const assay_host_event*, Event> event_handles_;
  std::unordered_map<void*, std::size_t> allocations_;
  std::uint64_t allocated_bytes_ = 0;

  ScratchPool scratch_;
  Outcome blame_;
};

// The table of assay_call::host. It finds the process's model by itself.
[[nodiscard]] const assay_host_api* candidate_api() noexcept;
// submit_trusted of host_device.hpp.
[[nodiscard]] Outcome launch_on_current(assay_host_stream*, Trusted) noexcept;
// Makes the model the process's own, or none. Throws std::logic_error where one is alive already.
void adopt_model(std::shared_ptr<Model>);
void abandon_model() noexcept;

}  // namespace assay::host
