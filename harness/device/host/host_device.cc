#include "harness/device/host/host_device.hpp"

#include <array>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <optional>
#include <utility>

#include "harness/device/host/host_model.hpp"

namespace assay {
namespace host {
namespace {

// Other work is this many operations of this many words: enough to run beside the candidate's, too little to cost.
constexpr int load_operations = 4;
constexpr std::size_t load_words = 512;

Outcome program_error(const char* text) { return {StepCode::infrastructure, text}; }

// In the program's own steps a misuse is the harness's, never the candidate's.
Outcome as_program_error(Outcome outcome) {
  if (!outcome.ok()) outcome.code = StepCode::infrastructure;
  return outcome;
}

}  // namespace

Model::~Model() {
  for (const auto& [memory, bytes] : allocations_) std::free(memory);
}

void Model::schedule(const Schedule& schedule) {
  const Lock lock(mutex_);
  schedule_ = schedule;
  launches_ = 0;
}

Stream* Model::program_stream(std::uint32_t index) {
  Stream*& stream = program_streams_[index];
  if (stream == nullptr) stream = add_stream(Stream::Owner::program);
  return stream;
}

void Model::close_captures() {
  while (!captures_.empty()) {
    const std::shared_ptr<Capture> open = captures_.back();
    close_capture(open);
  }
}

void Model::abandon_captures() {
  Lock lock(mutex_);
  close_captures();
}

// The candidate's own streams, events and allocations outlive a program: they may belong to its init state.
Outcome Model::reset() {
  Lock lock(mutex_);
  close_captures();
  for (const auto& stream : streams_) {
    if (stream->gate != nullptr) stream->gate->done = true;
    stream->gate = nullptr;
  }
  if (!drain_all(lock)) return program_error("the device did not come to rest");
  for (const auto& [index, stream] : program_streams_) {
    stream->alive = false;
    std::erase_if(stream_handles_, [dead = stream](const auto& entry) { return entry.second == dead; });
  }
  program_streams_.clear();
  program_events_.clear();
  graphs_.clear();
  erase_finished_streams();
  scratch_.recycle();
  scratch_.trim();
  launches_ = 0;
  blame_ = {};
  return {};
}

Outcome Model::submit(std::uint32_t index, Trusted work) {
  Lock lock(mutex_);
  Stream* stream = program_stream(index);
  if (stream->capture != nullptr) {
    add_node(*stream, std::move(work));
  } else {
    enqueue(lock, *stream, {std::move(work), {}});
  }
  return {};
}

// Runs on a stream of its own. It takes launch ordinals too, so that later launches run their blocks in other orders
// than they would without it.
Outcome Model::load(std::uint32_t index) {
  Lock lock(mutex_);
  program_stream(index);
  if (load_ == nullptr) load_ = add_stream(Stream::Owner::load);
  for (int i = 0; i < load_operations; ++i) {
    const BlockOrder order = next_order(1);
    const Trusted work = [seed = order.launch] {
      std::array<std::uint64_t, load_words> words;
      for (std::size_t w = 0; w < words.size(); ++w) words[w] = mix(seed + w);
      // The result must look used, or the compiler removes the work.
      asm volatile("" : : "r"(words.data()) : "memory");
    };
    enqueue(lock, *load_, {work, order});
  }
  return {};
}

Outcome Model::record(std::uint32_t event, std::uint32_t stream) {
  Lock lock(mutex_);
  record(lock, program_stream(stream), program_events_[event]);
  return {};
}

Outcome Model::wait(std::uint32_t stream, std::uint32_t event) {
  Lock lock(mutex_);
  const Event as_recorded_now = program_events_[event];
  return as_program_error(wait(lock, program_stream(stream), as_recorded_now));
}

Outcome Model::hold(std::uint32_t index) {
  Lock lock(mutex_);
  Stream* stream = program_stream(index);
  if (stream->capture != nullptr) return program_error("hold of a stream in capture");
  if (stream->gate != nullptr) return program_error("the stream is held already");
  stream->gate = std::make_shared<Mark>();
  enqueue(lock, *stream, {Wait{stream->gate}, {}});
  return {};
}

Outcome Model::unhold(std::uint32_t index) {
  Lock lock(mutex_);
  Stream* stream = program_stream(index);
  if (stream->gate == nullptr) return program_error("the stream is not held");
  stream->gate->done = true;
  stream->gate = nullptr;
  changed_.notify_all();
  pump(lock, stream);
  return {};
}

Outcome Model::after_sync() {
  if (std::optional<std::string> damage = scratch_.damage()) return {StepCode::device_fault, std::move(*damage)};
  return {};
}

Outcome Model::sync(std::uint32_t index) {
  Lock lock(mutex_);
  Stream* stream = program_stream(index);
  if (stream->capture != nullptr) return program_error("sync of a stream in capture");
  if (!demand(lock, *stream, nullptr)) return program_error("sync of a held stream");
  return after_sync();
}

Outcome Model::sync_device() {
  Lock lock(mutex_);
  if (!captures_.empty()) return program_error("sync of the device in capture");
  if (!drain_all(lock)) return program_error("sync of the device while a stream is held");
  return after_sync();
}

Outcome Model::verdict_on_call() {
  const Lock lock(mutex_);
  return std::exchange(blame_, {});
}

Outcome Model::usage(DeviceUsage& usage) {
  const Lock lock(mutex_);
  usage.bytes_used = allocated_bytes_;
  usage.handles = event_handles_.size() + allocations_.size();
  for (const auto& [handle, stream] : stream_handles_) usage.handles += stream->owner == Stream::Owner::candidate;
  return {};
}

Outcome Model::scratch(std::size_t bytes, void** memory) {
  const Lock lock(mutex_);
  *memory = nullptr;
  if (bytes == 0) return {};
  if (all_idle()) scratch_.recycle();
  std::shared_ptr<std::byte> taken = scratch_.take(bytes);
  *memory = taken.get();
  // A graph replays with the scratch of its capture, however large later calls are.
  for (const auto& capture : captures_) capture->graph.scratch.push_back(taken);
  return {};
}

namespace {

class HostDevice final : public Device {
 public:
  explicit HostDevice(HostHooks hooks) : model_(std::make_shared<Model>(hooks)) { adopt_model(model_); }
  ~HostDevice() override {
    // What candidates queued must not outlive the memory that it names.
    static_cast<void>(reset());
    abandon_model();
  }

  [[nodiscard]] DeviceType type() const noexcept override { return DeviceType::host; }
  [[nodiscard]] std::string describe() const override { return "host model"; }
  void schedule(const Schedule& schedule) override { model_->schedule(schedule); }
  Outcome reset() override {
    return guarded([&] { return model_->reset(); });
  }

  Outcome bind(assay_call& call, std::uint32_t stream) override {
    return guarded([&] {
      call.device = {kDLCPU, 0};
      call.cuda_stream = nullptr;
      call.host_stream = model_->handle_of(stream);
      call.host = candidate_api();
      return Outcome{};
    });
  }

  Outcome copy(std::uint32_t stream, void* to, const void* from, std::size_t bytes) override {
    return guarded([&] { return model_->submit(stream, [=] { std::memmove(to, from, bytes); }); });
  }

  Outcome fill(std::uint32_t stream, void* to, std::uint32_t pattern, std::uint32_t pattern_bytes,
               std::size_t count) override {
    if (pattern_bytes != 1 && pattern_bytes != 2 && pattern_bytes != 4) {
      return {StepCode::infrastructure, "a fill pattern has 1, 2 or 4 bytes"};
    }
    return guarded([&] {
      return model_->submit(stream, [=] {
        // The low bytes of the pattern come first on every machine that this runs on (little-endian).
        auto* cell = static_cast<std::byte*>(to);
        for (std::size_t i = 0; i < count; ++i, cell += pattern_bytes) std::memcpy(cell, &pattern, pattern_bytes);
      });
    });
  }

  Outcome load(std::uint32_t stream) override {
    return guarded([&] { return model_->load(stream); });
  }
  Outcome delay(std::uint32_t stream, std::uint32_t microseconds) override {
    return guarded([&] {
      return model_->submit(stream, [=] { std::this_thread::sleep_for(std::chrono::microseconds(microseconds)); });
    });
  }
  Outcome record(std::uint32_t event, std::uint32_t stream) override {
    return guarded([&] { return model_->record(event, stream); });
  }
  Outcome wait(std::uint32_t stream, std::uint32_t event) override {
    return guarded([&] { return model_->wait(stream, event); });
  }
  Outcome hold(std::uint32_t stream) override {
    return guarded([&] { return model_->hold(stream); });
  }
  Outcome unhold(std::uint32_t stream) override {
    return guarded([&] { return model_->unhold(stream); });
  }
  Outcome sync(std::uint32_t stream) override {
    return guarded([&] { return model_->sync(stream); });
  }
  Outcome sync_device() override {
    return guarded([&] { return model_->sync_device(); });
  }
  Outcome verdict_on_call() override {
    return guarded([&] { return model_->verdict_on_call(); });
  }
  [[nodiscard]] std::optional<std::uint64_t> enqueued() const override { return model_->enqueued(); }
  Outcome begin_capture(std::uint32_t stream, CaptureMode mode) override {
    return guarded([&] { return model_->begin_capture(stream, mode); });
  }
  Outcome end_capture(std::uint32_t stream, std::uint32_t graph, GraphInventory& inventory) override {
    return guarded([&] { return model_->end_capture(stream, graph, inventory); });
  }
  void abandon_captures() override { model_->abandon_captures(); }
  Outcome launch(std::uint32_t graph, std::uint32_t stream) override {
    return guarded([&] { return model_->launch(graph, stream); });
  }
  Outcome drop_graph(std::uint32_t graph) override {
    return guarded([&] { return model_->drop_graph(graph); });
  }
  Outcome usage(DeviceUsage& usage) override {
    return guarded([&] { return model_->usage(usage); });
  }
  Outcome scratch(std::size_t bytes, void** memory) override {
    return guarded([&] { return model_->scratch(bytes, memory); });
  }

 private:
  template <class Step>
  Outcome guarded(Step&& step) noexcept {
    try {
      return step();
    } catch (const std::bad_alloc&) {
      return {StepCode::out_of_memory, "the host model is out of memory"};
    } catch (const std::exception& error) {
      return {StepCode::infrastructure, error.what()};
    }
  }

  std::shared_ptr<Model> model_;
};

}  // namespace
}  // namespace host

std::unique_ptr<Device> make_host_device(HostHooks hooks) { return std::make_unique<host::HostDevice>(hooks); }

Outcome submit_trusted(assay_host_stream* stream, std::function<void()> work) {
  return host::launch_on_current(stream, std::move(work));
}

}  // namespace assay
