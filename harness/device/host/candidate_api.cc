// What candidates call: assay_host_api, its legality and its blame.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

#include "harness/device/host/host_model.hpp"

namespace assay::host {
namespace {

// Allocations start as 0xFF (a NaN, or -1), and go as it. Only this much of a large one, because filling commits it.
constexpr std::size_t poison_limit_bytes = 64u << 20;
constexpr std::size_t allocation_alignment = 256;  // as cudaMalloc's

// The device's memory is the machine's: with overcommit the system would grant any amount, and kill someone later.
std::size_t device_bytes() {
  static const std::size_t bytes =
      static_cast<std::size_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

void poison(void* memory, std::size_t bytes) { std::memset(memory, 0xFF, std::min(bytes, poison_limit_bytes)); }

// Handles are numbers that no process uses twice, never addresses: a dead one, or one of an earlier model, is found
// out instead of being followed.
template <class Handle>
Handle* new_handle() {
  static std::uintptr_t last = 0;  // under the model's lock; one model lives at a time
  last += 16;
  return reinterpret_cast<Handle*>(last);
}

}  // namespace

Outcome Model::find(assay_host_stream* handle, Stream** stream) const {
  *stream = nullptr;
  if (handle == nullptr) return {};
  const auto found = stream_handles_.find(handle);
  if (found == stream_handles_.end()) return {StepCode::launch_invalid, "unknown or destroyed stream"};
  *stream = found->second;
  return {};
}

Outcome Model::find(assay_host_event* handle, Event** event) {
  const auto found = event_handles_.find(handle);
  if (found == event_handles_.end()) return {StepCode::launch_invalid, "unknown or destroyed event"};
  *event = &found->second;
  return {};
}

void Model::blame(const Outcome& outcome) {
  const Lock lock(mutex_);
  if (blame_.ok()) blame_ = outcome;
}

assay_host_stream* Model::handle_of(std::uint32_t index) {
  const Lock lock(mutex_);
  Stream* stream = program_stream(index);
  for (const auto& [handle, known] : stream_handles_) {
    if (known == stream) return const_cast<assay_host_stream*>(handle);
  }
  auto* handle = new_handle<assay_host_stream>();
  stream_handles_[handle] = stream;
  return handle;
}

Outcome Model::launch(assay_host_stream* handle, assay_host_kernel kernel, std::uint32_t blocks, const void* args,
                      std::size_t bytes) {
  Lock lock(mutex_);
  Stream* stream = nullptr;
  if (Outcome found = find(handle, &stream); !found.ok()) return found;
  if (kernel == nullptr) return {StepCode::launch_invalid, "launched a NULL kernel"};
  if (blocks == 0) return {StepCode::launch_invalid, "launched zero blocks"};
  if (args == nullptr && bytes != 0) return {StepCode::launch_invalid, "launched with a NULL argument block"};
  KernelLaunch launch{kernel, blocks, ArgumentBlock(args, bytes)};
  ++enqueued_;
  if (stream != nullptr && stream->capture != nullptr) {
    add_node(*stream, std::move(launch));
    return {};
  }
  const BlockOrder order = next_order(1);
  if (stream == nullptr) {
    lock.unlock();
    run_kernel(launch, launch.args.data(), order);
    return {};
  }
  enqueue(lock, *stream, {std::move(launch), order});
  return {};
}

Outcome Model::launch_trusted(assay_host_stream* handle, Trusted work) {
  Lock lock(mutex_);
  Stream* stream = nullptr;
  if (Outcome found = find(handle, &stream); !found.ok()) return found;
  ++enqueued_;
  if (stream == nullptr) {
    lock.unlock();
    work();
  } else if (stream->capture != nullptr) {
    add_node(*stream, std::move(work));
  } else {
    enqueue(lock, *stream, {std::move(work), {}});
  }
  return {};
}

Outcome Model::stream_create(assay_host_stream** handle) {
  const Lock lock(mutex_);
  if (handle == nullptr) return {StepCode::launch_invalid, "stream_create without a place for the stream"};
  Stream* stream = add_stream(Stream::Owner::candidate);
  *handle = new_handle<assay_host_stream>();
  stream_handles_[*handle] = stream;
  return {};
}

// What the stream still holds runs as it would have.
Outcome Model::stream_destroy(assay_host_stream* handle) {
  const Lock lock(mutex_);
  Stream* stream = nullptr;
  if (Outcome found = find(handle, &stream); !found.ok()) return found;
  if (stream == nullptr) return {StepCode::launch_invalid, "destroyed the legacy stream"};
  if (stream->owner != Stream::Owner::candidate) return {StepCode::launch_invalid, "destroyed the call's own stream"};
  stream->alive = false;
  stream_handles_.erase(handle);
  if (draining_ == 0) erase_finished_streams();
  return {};
}

Outcome Model::event_create(assay_host_event** handle) {
  const Lock lock(mutex_);
  if (handle == nullptr) return {StepCode::launch_invalid, "event_create without a place for the event"};
  *handle = new_handle<assay_host_event>();
  event_handles_[*handle];
  return {};
}

Outcome Model::event_destroy(assay_host_event* handle) {
  const Lock lock(mutex_);
  if (event_handles_.erase(handle) == 0) return {StepCode::launch_invalid, "unknown or destroyed event"};
  return {};
}

Outcome Model::event_record(assay_host_event* event_handle, assay_host_stream* stream_handle) {
  Lock lock(mutex_);
  Event* event = nullptr;
  Stream* stream = nullptr;
  if (Outcome found = find(event_handle, &event); !found.ok()) return found;
  if (Outcome found = find(stream_handle, &stream); !found.ok()) return found;
  record(lock, stream, *event);
  return {};
}

Outcome Model::stream_wait(assay_host_stream* stream_handle, assay_host_event* event_handle) {
  Lock lock(mutex_);
  Event* event = nullptr;
  Stream* stream = nullptr;
  if (Outcome found = find(event_handle, &event); !found.ok()) return found;
  if (Outcome found = find(stream_handle, &stream); !found.ok()) return found;
  const Event as_recorded_now = *event;
  return wait(lock, stream, as_recorded_now);
}

Outcome Model::synchronize(assay_host_stream* handle) {
  Lock lock(mutex_);
  Stream* stream = nullptr;
  if (Outcome found = find(handle, &stream); !found.ok()) return found;
  if (illegal_in_capture("synchronize", stream)) return {StepCode::capture_illegal, "synchronised in a capture"};
  // The legacy stream waits for all others, as it does for CUDA's blocking streams.
  const bool reached = stream == nullptr ? drain_all(lock) : demand(lock, *stream, nullptr);
  if (!reached) return {StepCode::synchronised_held, "synchronised a stream while it was held"};
  return {};
}

Outcome Model::allocate(void** memory, std::size_t bytes) {
  const Lock lock(mutex_);
  if (memory == nullptr) return {StepCode::launch_invalid, "allocate without a place for the pointer"};
  *memory = nullptr;
  if (illegal_in_capture("allocate", nullptr)) return {StepCode::capture_illegal, "allocated in a capture"};
  if (bytes == 0) return {};
  void* fresh = nullptr;
  if (bytes > device_bytes() - std::min<std::size_t>(allocated_bytes_, device_bytes()) ||
      ::posix_memalign(&fresh, allocation_alignment, bytes) != 0) {
    return {StepCode::out_of_memory, "allocation of " + std::to_string(bytes) + " bytes was refused"};
  }
  poison(fresh, bytes);
  allocations_[fresh] = bytes;
  allocated_bytes_ += bytes;
  *memory = fresh;
  return {};
}

Outcome Model::release(void* memory) {
  Lock lock(mutex_);
  if (illegal_in_capture("release", nullptr)) return {StepCode::capture_illegal, "released memory in a capture"};
  if (!drain_all(lock)) return {StepCode::synchronised_held, "released memory, which waits for a held stream"};
  if (memory == nullptr) return {};
  const auto found = allocations_.find(memory);
  if (found == allocations_.end()) return {StepCode::launch_invalid, "released a pointer that is not allocated"};
  poison(memory, found->second);
  allocated_bytes_ -= found->second;
  allocations_.erase(found);
  std::free(memory);
  return {};
}

namespace {

// Never destroyed: a candidate's static destructors may still call in.
struct Current {
  std::mutex mutex;
  std::shared_ptr<Model> model;
};
Current& current() {
  static auto* const the = new Current;
  return *the;
}

template <class Call>
Outcome outcome_of_call(Call&& call) noexcept {
  std::shared_ptr<Model> model;
  Outcome outcome;
  try {
    {
      const std::lock_guard lock(current().mutex);
      model = current().model;
    }
    if (model == nullptr) return {StepCode::infrastructure, "no device is alive"};
    outcome = Model::inside_kernel() ? Outcome{StepCode::launch_invalid, "called the host API from inside a kernel"}
                                     : call(*model);
    // What invalidated a capture is told by the end of that capture.
    if (!outcome.ok() && outcome.code != StepCode::capture_illegal) model->blame(outcome);
  } catch (const std::exception&) {
    outcome = {StepCode::out_of_memory, {}};
    if (model != nullptr) model->blame(outcome);
  }
  return outcome;
}

template <class Call>
assay_status call_model(Call&& call) noexcept {
  return outcome_of_call(std::forward<Call>(call)).ok() ? ASSAY_OK : ASSAY_ERROR;
}

// One C function a member: the member's own arguments, forwarded to the current model.
template <auto member>
struct Function;
template <class... Args, Outcome (Model::*member)(Args...)>
struct Function<member> {
  static assay_status call(Args... args) {
    return call_model([&](Model& model) { return (model.*member)(args...); });
  }
};

using Launch = Outcome (Model::*)(assay_host_stream*, assay_host_kernel, std::uint32_t, const void*, std::size_t);

constexpr assay_host_api table = {
    sizeof(assay_host_api),
    Function<static_cast<Launch>(&Model::launch)>::call,
    Function<&Model::stream_create>::call,
    Function<&Model::stream_destroy>::call,
    Function<&Model::event_create>::call,
    Function<&Model::event_destroy>::call,
    Function<&Model::event_record>::call,
    Function<&Model::stream_wait>::call,
    Function<&Model::synchronize>::call,
    Function<&Model::allocate>::call,
    Function<&Model::release>::call,
};

}  // namespace

const assay_host_api* candidate_api() noexcept { return &table; }

Outcome launch_on_current(assay_host_stream* stream, Trusted work) noexcept {
  return outcome_of_call([&](Model& model) { return model.launch_trusted(stream, std::move(work)); });
}

void adopt_model(std::shared_ptr<Model> model) {
  const std::lock_guard lock(current().mutex);
  if (current().model != nullptr) throw std::logic_error("a host device is alive in this process already");
  current().model = std::move(model);
}

void abandon_model() noexcept {
  std::shared_ptr<Model> dead;  // destroyed outside the lock
  const std::lock_guard lock(current().mutex);
  dead.swap(current().model);
}

}  // namespace assay::host
