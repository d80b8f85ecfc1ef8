// The engine of the host model: when and in which order queued operations run.
#include <algorithm>
#include <cstring>
#include <new>
#include <system_error>

#include "harness/device/host/host_model.hpp"

namespace assay::host {
namespace {

constexpr std::align_val_t argument_alignment{64};  // the widest vector type a candidate's struct may hold
thread_local bool in_kernel = false;

template <class... Cases>
struct Match : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
Match(Cases...) -> Match<Cases...>;

bool is_side(const Stream& stream) { return stream.owner != Stream::Owner::program; }

}  // namespace

ArgumentBlock::ArgumentBlock(const void* args, std::size_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  memory_.reset(static_cast<std::byte*>(::operator new(bytes, argument_alignment)));
  std::memcpy(memory_.get(), args, bytes);
}

void ArgumentBlock::Free::operator()(std::byte* memory) const noexcept {
  ::operator delete(memory, argument_alignment);
}

class Model::Draining {
 public:
  explicit Draining(Model& model) : model_(model) { ++model_.draining_; }
  ~Draining() {
    if (--model_.draining_ == 0) model_.erase_finished_streams();
  }
  Draining(const Draining&) = delete;
  Draining& operator=(const Draining&) = delete;

 private:
  Model& model_;
};

bool Model::inside_kernel() noexcept { return in_kernel; }

Stream* Model::add_stream(Stream::Owner owner) {
  streams_.push_back(std::make_unique<Stream>());
  streams_.back()->owner = owner;
  return streams_.back().get();
}

BlockOrder Model::next_order(std::uint64_t launches) {
  const BlockOrder order{schedule_.block_seed, launches_};
  launches_ += launches;
  return order;
}

void Model::enqueue(Lock& lock, Stream& stream, Operation operation) {
  stream.queue.push_back(std::move(operation));
  pump(lock, &stream);
}

// The early schedule: everything that can run does, side streams first and the stream just used last. With threads,
// operations are kept for sync_device: run here, they would never meet.
void Model::pump(Lock& lock, const Stream* last) {
  if (!schedule_.early || schedule_.threads) return;
  const Draining guard(*this);
  while (Stream* next = runnable(last)) run_front(lock, *next);
}

Stream* Model::runnable(const Stream* last) {
  Stream* best = nullptr;
  const auto rank = [last](const Stream& s) { return is_side(s) ? 0 : &s == last ? 2 : 1; };
  for (const auto& stream : streams_) {
    if (stream->busy || stream->queue.empty()) continue;
    const Wait* wait = std::get_if<Wait>(&stream->queue.front().what);
    if (wait != nullptr && !wait->mark->done) continue;
    if (best == nullptr || rank(*stream) < rank(*best)) best = stream.get();
  }
  return best;
}

// Runs a stream up to the goal, or to its end where there is none, and of other streams only what that depends on.
// False where a held stream is in the way.
bool Model::demand(Lock& lock, Stream& stream, const Mark* goal) {
  const Draining guard(*this);
  while (goal != nullptr ? !goal->done : !stream.idle()) {
    if (stream.busy) {
      changed_.wait(lock);
      continue;
    }
    const Wait* wait = std::get_if<Wait>(&stream.queue.front().what);
    if (wait != nullptr && !wait->mark->done) {
      const std::shared_ptr<Mark> mark = wait->mark;
      if (mark->stream == nullptr || !demand(lock, *mark->stream, mark.get())) return false;
      continue;
    }
    run_front(lock, stream);
    if (&stream != load_) run_load(lock);
  }
  return true;
}

bool Model::drain_all(Lock& lock) {
  const Draining guard(*this);
  if (schedule_.threads) return drain_on_threads(lock);
  std::vector<Stream*> order;
  for (const auto& stream : streams_) order.push_back(stream.get());
  const bool side_first = schedule_.early;
  std::stable_partition(order.begin(), order.end(), [&](const Stream* s) { return is_side(*s) == side_first; });
  bool drained = true;
  for (Stream* stream : order) drained = demand(lock, *stream, nullptr) && drained;
  return drained;
}

bool Model::gate_in_the_way() const {
  for (const auto& stream : streams_) {
    for (const Operation& operation : stream->queue) {
      const Wait* wait = std::get_if<Wait>(&operation.what);
      if (wait != nullptr && !wait->mark->done && wait->mark->stream == nullptr) return true;
    }
  }
  return false;
}

bool Model::all_idle() const {
  return std::all_of(streams_.begin(), streams_.end(),
                     [this](const auto& stream) { return stream.get() == load_ || stream->idle(); });
}

// Throws std::system_error where a thread cannot be started; those that were have ended then.
bool Model::drain_on_threads(Lock& lock) {
  // Threads really wait for each other, so a hold has to be found before they start.
  if (gate_in_the_way()) return false;
  std::vector<Stream*> pending;
  for (const auto& stream : streams_) {
    if (!stream->idle()) pending.push_back(stream.get());
  }
  abandoned_ = false;
  lock.unlock();
  try {
    std::vector<std::jthread> threads;
    threads.reserve(pending.size());
    try {
      for (Stream* stream : pending) threads.emplace_back([this, stream] { drain_one_on_thread(*stream); });
    } catch (...) {
      const Lock stop(mutex_);
      abandoned_ = true;
      changed_.notify_all();
      throw;
    }
  } catch (...) {
    lock.lock();
    throw;
  }
  lock.lock();
  return true;
}

void Model::drain_one_on_thread(Stream& stream) {
  Lock lock(mutex_);
  while (!stream.idle() && !abandoned_) {
    const Wait* wait = stream.busy ? nullptr : std::get_if<Wait>(&stream.queue.front().what);
    if (stream.busy || (wait != nullptr && !wait->mark->done)) {
      changed_.wait(lock);
    } else {
      run_front(lock, stream);
    }
  }
}

void Model::run_front(Lock& lock, Stream& stream) {
  const Operation operation = std::move(stream.queue.front());
  stream.queue.pop_front();
  if (const Record* record = std::get_if<Record>(&operation.what)) {
    record->mark->done = true;
  } else if (!std::holds_alternative<Wait>(operation.what)) {
    stream.busy = true;
    lock.unlock();
    run(operation);
    lock.lock();
    stream.busy = false;
  }
  changed_.notify_all();
}

// Other work advances beside the stream that is drained, and not only when its own turn comes.
void Model::run_load(Lock& lock) {
  if (load_ != nullptr && !load_->busy && !load_->queue.empty()) run_front(lock, *load_);
}

void Model::run(const Operation& operation) noexcept {
  std::visit(Match{[&](const KernelLaunch& launch) { run_kernel(launch, launch.args.data(), operation.order); },
                   [](const Trusted& work) { work(); },
                   [&](const GraphLaunch& launch) {
                     for (const std::uint32_t node : launch.order) {
                       BlockOrder order = operation.order;
                       order.launch += node;
                       run_work(launch.graph->nodes[node].work, order);
                     }
                   },
                   [](const Record&) {}, [](const Wait&) {}},
             operation.what);
}

// Each replay gets its own copy of the arguments: a kernel that writes into them must not change the graph.
void Model::run_work(const Work& work, BlockOrder order) noexcept {
  if (const KernelLaunch* launch = std::get_if<KernelLaunch>(&work)) {
    const ArgumentBlock args = launch->args.clone();
    run_kernel(*launch, args.data(), order);
  } else {
    std::get<Trusted>(work)();
  }
}

// noexcept on purpose: an exception thrown by a kernel ends the process inside the kernel, where the black box says so.
void Model::run_kernel(const KernelLaunch& launch, const void* args, BlockOrder order) noexcept {
  in_kernel = true;
  if (hooks_.kernel_enter != nullptr) hooks_.kernel_enter(hooks_.context);
  for_each_block(order, launch.blocks, [&](std::uint32_t block) { launch.kernel(args, block, launch.blocks); });
  if (hooks_.kernel_leave != nullptr) hooks_.kernel_leave(hooks_.context);
  in_kernel = false;
}

void Model::erase_finished_streams() {
  std::erase_if(streams_, [](const auto& stream) { return !stream->alive && stream->idle() && !stream->capture; });
}

}  // namespace assay::host
