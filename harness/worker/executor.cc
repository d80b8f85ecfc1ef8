#include "harness/worker/executor.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <stdexcept>

#include "harness/capability/library_table.hpp"
#include "harness/worker/surroundings.hpp"

namespace assay {

// Everything on the host that a call is handed, kept until the program ends so that `scribble` can overwrite it.
struct Executor::Frame {
  struct Description {
    DLTensor tensor{}, before{};
    std::int64_t shape[kMaxRank], strides[kMaxRank], shape_before[kMaxRank], strides_before[kMaxRank];
    bool output = false;
  };
  assay_call call{};
  assay_moe_weights weights{};                  // of prepare
  char words[kPrepareWords][16] = {};
  char error[256] = {};
  std::vector<Description> tensors;
  std::vector<CallArgument> arguments;

  explicit Frame(std::size_t count) : tensors(count), arguments(count) {}

  [[nodiscard]] std::uint32_t changes() const {
    std::uint32_t bits = 0;
    for (const Description& d : tensors) {
      std::uint32_t own = 0;
      const DLTensor &a = d.tensor, &b = d.before;
      if (a.data != b.data) own |= kData;
      if (a.ndim != b.ndim || a.shape != b.shape) own |= kShape;
      if (a.strides != b.strides) own |= kStrides;
      if (std::memcmp(d.shape, d.shape_before, sizeof d.shape) != 0) own |= kShape;
      if (std::memcmp(d.strides, d.strides_before, sizeof d.strides) != 0) own |= kStrides;
      if (a.dtype.code != b.dtype.code || a.dtype.bits != b.dtype.bits || a.dtype.lanes != b.dtype.lanes) own |= kDType;
      if (a.device.device_type != b.device.device_type || a.device.device_id != b.device.device_id)
        own |= kDeviceField;
      if (a.byte_offset != b.byte_offset) own |= kOffset;
      bits |= d.output || !own ? own : static_cast<std::uint32_t>(kInputDescriptor);
    }
    return bits;
  }

  void scribble() {
    // The vectors' own memory stays; what the candidate could have kept pointers to is overwritten.
    for (Description& d : tensors) std::memset(static_cast<void*>(&d), 0xA5, sizeof d);
    std::memset(static_cast<void*>(&call), 0xA5, sizeof call);
    std::memset(static_cast<void*>(&weights), 0xA5, sizeof weights);
    std::memset(words, 0xA5, sizeof words);
    std::memset(error, 0xA5, sizeof error);
    for (CallArgument& a : arguments) a.integer = static_cast<std::int64_t>(0xA5A5A5A5A5A5A5A5ull);
  }
};

Executor::Executor(Device& device, BlackBox& box, std::map<std::uint32_t, WorkerArena>& arenas,
                   std::map<std::uint32_t, std::unique_ptr<Group>>& groups, const assay_library& library,
                   CallReceipts& receipts)
    : device_(device), box_(box), arenas_(arenas), groups_(groups), library_(library), receipts_(receipts) {}

Executor::~Executor() = default;

namespace {

class PhaseGuard {
 public:
  PhaseGuard(BlackBox& box, Phase phase) : box_(box), before_(box.phase) {
    box_.phase = static_cast<std::uint32_t>(phase);
  }
  ~PhaseGuard() { box_.phase = before_; }
  PhaseGuard(const PhaseGuard&) = delete;
  PhaseGuard& operator=(const PhaseGuard&) = delete;

 private:
  BlackBox& box_;
  std::uint32_t before_;
};

constexpr std::uint32_t kCallsAtOnce = 64;  // of a step that calls many times, before its stream is waited for

std::string first_line(const char* text, std::size_t capacity) {
  std::string line(text, strnlen(text, capacity));
  if (const auto end = line.find('\n'); end != std::string::npos) line.resize(end);
  return line;
}

}  // namespace

// The candidate's view of a group; its failures are told by the step in which they come up.
Outcome Executor::enter_group(std::uint32_t group, assay_call& call) const {
  if (group == 0) return {};
  const auto found = groups_.find(group);
  if (found == groups_.end()) return {StepCode::infrastructure, "the program names no such group"};
  call.group = found->second->handle();
  return {};
}

void Executor::init_variant(std::uint32_t index, std::uint32_t group) {
  if (index >= library_.variant_count) throw std::runtime_error("no such variant");
  const assay_variant variant = read_variant(*library_.variants[index]);
  if (states_.count({index, group}) || !variant.init) return;
  assay_call call{};
  call.size = sizeof call;
  char error[256] = {};
  call.error = error;
  call.error_bytes = sizeof error;
  if (const Outcome bound = device_.bind(call, 0); !bound.ok()) throw std::runtime_error(bound.text);
  if (const Outcome entered = enter_group(group, call); !entered.ok()) throw std::runtime_error(entered.text);
  void* state = nullptr;
  assay_status status;
  if (group) groups_.at(group)->allow_exchange(true);
  {
    PhaseGuard phase(box_, Phase::init);
    status = [&]() noexcept { return variant.init(&call, &state); }();  // an exception dies where it was thrown
  }
  if (group) {
    groups_.at(group)->allow_exchange(false);
    if (const Outcome failure = groups_.at(group)->take_failure(); failure.code == StepCode::infrastructure)
      throw DeviceError(failure.text);
    else if (!failure.ok())
      throw std::runtime_error(failure.text);
  }
  if (status != ASSAY_OK)
    throw std::runtime_error("init returned status " + std::to_string(status) + " " + first_line(error, sizeof error));
  states_[{index, group}] = state;
}

void Executor::describe(const ProgramTensor& t, Frame& frame, std::size_t slot, bool output) {
  Frame::Description& d = frame.tensors[slot];
  std::memset(d.shape, 0, sizeof d.shape);
  std::memset(d.strides, 0, sizeof d.strides);
  std::copy_n(t.shape, t.rank, d.shape);
  std::copy_n(t.strides, t.rank, d.strides);
  std::memcpy(d.shape_before, d.shape, sizeof d.shape);
  std::memcpy(d.strides_before, d.strides, sizeof d.strides);
  d.output = output;
  d.tensor.data = arenas_.at(t.arena).candidate->base() + t.offset;
  d.tensor.device = frame.call.device;
  d.tensor.ndim = t.rank;
  d.tensor.dtype = DLDataType{t.code, t.bits, t.lanes};
  d.tensor.shape = d.shape;
  d.tensor.strides = d.strides;
  d.tensor.byte_offset = 0;
  d.before = d.tensor;
}

Outcome Executor::call_again(const assay_variant& variant, Frame& frame, ProgramResult& result) {
  box_.calls = box_.calls + 1;
  {
    PhaseGuard phase(box_, Phase::entry);
    result.status = call_entry(variant.entry.any, &frame.call, frame.arguments);
  }
  PhaseGuard phase(box_, Phase::after_entry);
  result.binding |= frame.changes();
  if (result.status != ASSAY_OK)
    return {StepCode::entry_failed, "the entry returned status " + std::to_string(result.status) + " " +
                                        first_line(frame.error, sizeof frame.error)};
  return device_.verdict_on_call();
}

// As often as the step says, before the time that is looked at.
template <class Do>
Outcome Executor::repeat(const ProgramStep& step, Do&& act) {
  for (std::uint32_t i = 0; i < step.pattern; ++i) {
    if (Outcome o = act(); !o.ok()) return o;
    if (i % kCallsAtOnce != kCallsAtOnce - 1) continue;
    if (Outcome o = wait_for(step.stream); !o.ok()) return o;
  }
  return {};
}

Outcome Executor::wait_for(std::uint32_t stream) {
  PhaseGuard phase(box_, Phase::waiting);
  return device_.sync(stream);
}

Outcome Executor::call(Program& program, const ProgramStep& step, ProgramResult& result) {
  if (step.a >= library_.variant_count || step.argument_count > kMaxArguments)
    return {StepCode::infrastructure, "the program names no such variant"};
  const assay_variant variant = read_variant(*library_.variants[step.a]);
  frames_.push_back(std::make_unique<Frame>(step.argument_count));
  Frame& frame = *frames_.back();
  assay_call& call = frame.call;
  call.size = sizeof call;
  call.error = frame.error;
  call.error_bytes = sizeof frame.error;
  if (const Outcome bound = device_.bind(call, step.stream); !bound.ok()) return bound;
  if (const Outcome entered = enter_group(step.group, call); !entered.ok()) return entered;
  if (const auto state = states_.find({step.a, step.group}); state != states_.end()) call.state = state->second;

  std::vector<const DLTensor*> tensors;
  for (std::size_t i = 0; i < step.argument_count; ++i) {
    const ProgramArgument& from = step.arguments[i];
    CallArgument& to = frame.arguments[i];
    to.kind = from.kind;
    switch (from.kind) {
      case 'i':
      case 'o':
        if (from.tensor >= program.tensor_count || !arenas_.count(program.tensors[from.tensor].arena) ||
            !arenas_.at(program.tensors[from.tensor].arena).candidate)
          return {StepCode::infrastructure, "the program names no such tensor"};
        describe(program.tensors[from.tensor], frame, i, from.kind == 'o');
        to.pointer = &frame.tensors[i].tensor;
        tensors.push_back(&frame.tensors[i].tensor);
        break;
      case 'd': to.real = from.real; break;
      case 'w': to.word = static_cast<std::int32_t>(from.integer); break;
      case 'l': to.integer = from.integer; break;
      case 'p': {
        const auto found = prepared_.find(from.token);
        if (found == prepared_.end() || found->second.variant != step.a)
          return {StepCode::infrastructure, "the program names no such prepared weights"};
        to.pointer = found->second.data;
        break;
      }
      default: return {StepCode::infrastructure, "the program has an argument of unknown kind"};
    }
  }

  if (variant.workspace) {
    std::size_t bytes = 0;
    assay_status status;
    {
      PhaseGuard phase(box_, Phase::workspace);
      status = [&]() noexcept {  // as in init
        return variant.workspace(&call, tensors.data(), static_cast<std::uint32_t>(tensors.size()), &bytes);
      }();
    }
    if (status != ASSAY_OK) {
      result.status = status;
      return {StepCode::entry_failed, "workspace returned status " + std::to_string(status)};
    }
    if (const Outcome got = device_.scratch(bytes, &call.workspace); !got.ok()) return got;
    call.workspace_bytes = bytes;
  }

  // All but the last of a step that calls many times: what fails in one of them ends the step.
  if (const Outcome o = repeat(step, [&] { return call_again(variant, frame, result); }); !o.ok()) return o;

  box_.calls = box_.calls + 1;
  receipts_.entering(box_.step, step.a);
  const auto enqueued = device_.enqueued();
  const auto start = std::chrono::steady_clock::now();
  {
    PhaseGuard phase(box_, Phase::entry);
    result.status = call_entry(variant.entry.any, &call, frame.arguments);
  }
  result.nanoseconds = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start).count());
  PhaseGuard phase(box_, Phase::after_entry);
  result.binding |= frame.changes();
  if (const Outcome verdict = after_candidate(result); !verdict.ok()) return verdict;
  if (result.status != ASSAY_OK)
    return {StepCode::entry_failed, "the entry returned status " + std::to_string(result.status) + " " +
                                        first_line(frame.error, sizeof frame.error)};
  if (!result.binding)
    receipts_.returned(box_.step, step.a, step.stream,
                       enqueued ? std::optional(*device_.enqueued() - *enqueued) : std::nullopt);
  return {};
}

Outcome Executor::after_candidate(ProgramResult& result) {
  if (children_left) result.children = children_left();
  if (control_ok && !control_ok()) {
    box_.control_lost = 1;
    _exit(70);
  }
  return device_.verdict_on_call();
}

Outcome Executor::prepare(Program& program, const ProgramStep& step, ProgramResult& result) {
  if (step.a >= library_.variant_count || step.argument_count != kPrepareTensors + kPrepareIntegers)
    return {StepCode::infrastructure, "the program names no such variant"};
  const assay_variant variant = read_variant(*library_.variants[step.a]);
  const std::uint64_t token = step.to.offset;
  if (!variant.prepare || !variant.release || prepared_.count(token))
    return {StepCode::infrastructure, "the variant has no prepare, or the weights are prepared already"};
  frames_.push_back(std::make_unique<Frame>(step.argument_count));
  Frame& frame = *frames_.back();
  assay_call& call = frame.call;
  call.size = sizeof call;
  call.error = frame.error;
  call.error_bytes = sizeof frame.error;
  if (const Outcome bound = device_.bind(call, step.stream); !bound.ok()) return bound;

  assay_moe_weights& weights = frame.weights;
  weights.size = sizeof weights;
  static_assert(sizeof frame.words == sizeof step.words);
  std::memcpy(frame.words, step.words, sizeof frame.words);
  for (auto& word : frame.words) word[sizeof word - 1] = '\0';
  weights.form = frame.words[0];
  weights.activation = frame.words[1];
  weights.layout = frame.words[2];
  assay_in* const tensors[kPrepareTensors] = {&weights.w13,       &weights.w2,        &weights.w13_scale, &weights.w2_scale,
                                              &weights.g1_alphas, &weights.g2_alphas, &weights.a1_inv,    &weights.a2_inv};
  for (std::uint32_t i = 0; i < kPrepareTensors; ++i) {
    const ProgramArgument& from = step.arguments[i];
    if (!from.kind) continue;
    if (from.tensor >= program.tensor_count || !arenas_.count(program.tensors[from.tensor].arena) ||
        !arenas_.at(program.tensors[from.tensor].arena).candidate)
      return {StepCode::infrastructure, "the program names no such weight"};
    describe(program.tensors[from.tensor], frame, i, false);
    *tensors[i] = &frame.tensors[i].tensor;
  }
  std::int64_t* const integers[kPrepareIntegers] = {
      &weights.num_experts, &weights.hidden_size,          &weights.intermediate, &weights.group_size, &weights.top_k,
      &weights.fused_shared_experts, &weights.tp_size, &weights.ep_size,      &weights.ep_rank};
  for (std::uint32_t i = 0; i < kPrepareIntegers; ++i) *integers[i] = step.arguments[kPrepareTensors + i].integer;

  const bool measured = step.pattern != 0;
  DeviceUsage before_device, after_device;
  if (measured)
    if (const Outcome o = device_.usage(before_device); !o.ok()) return o;
  const Surroundings before = measured ? surroundings() : Surroundings{};
  void* data = nullptr;
  {
    PhaseGuard phase(box_, Phase::prepare);
    result.status = [&]() noexcept { return variant.prepare(&call, &weights, &data); }();  // as in init
  }
  const Surroundings after = measured ? surroundings() : Surroundings{};
  PhaseGuard phase(box_, Phase::after_entry);
  result.surroundings = changed(before, after);
  result.host_bytes = host_bytes_grown(before, after);
  result.binding = frame.changes();
  if (const Outcome verdict = after_candidate(result); !verdict.ok()) return verdict;
  if (result.status != ASSAY_OK)
    return {StepCode::entry_failed, "prepare returned status " + std::to_string(result.status) + " " +
                                        first_line(frame.error, sizeof frame.error)};
  prepared_[token] = {step.a, data};
  {
    PhaseGuard waiting(box_, Phase::waiting);
    if (const Outcome o = device_.sync_device(); !o.ok()) return o;
  }
  if (!measured) return {};
  if (const Outcome o = device_.usage(after_device); !o.ok()) return o;
  const auto others = [](const DeviceUsage& u) { return static_cast<std::int64_t>(u.bytes_used - u.scratch_bytes); };
  result.device_bytes = others(after_device) - others(before_device);
  return {};
}

// The prepared weights are forgotten whatever release says: it must not run twice.
Outcome Executor::release(std::uint64_t token, ProgramResult* result) {
  const auto found = prepared_.find(token);
  if (found == prepared_.end()) return {StepCode::infrastructure, "the program names no such prepared weights"};
  const Prepared prepared = found->second;
  prepared_.erase(found);
  const assay_variant variant = read_variant(*library_.variants[prepared.variant]);
  Frame frame(0);
  frame.call.size = sizeof frame.call;
  frame.call.error = frame.error;
  frame.call.error_bytes = sizeof frame.error;
  if (const Outcome bound = device_.bind(frame.call, 0); !bound.ok()) return bound;
  assay_status status;
  {
    PhaseGuard phase(box_, Phase::release);
    status = [&]() noexcept { return variant.release(&frame.call, prepared.data); }();  // as in init
  }
  PhaseGuard phase(box_, Phase::after_entry);
  ProgramResult unread;
  ProgramResult& seen = result ? *result : unread;
  seen.status = status;
  if (const Outcome verdict = after_candidate(seen); !verdict.ok()) return verdict;
  if (status != ASSAY_OK)
    return {StepCode::entry_failed,
            "release returned status " + std::to_string(status) + " " + first_line(frame.error, sizeof frame.error)};
  return {};
}

Outcome Executor::step(Program& program, const ProgramStep& s, ProgramResult& result) {
  const auto region = [&](const ProgramRegion& r) -> std::byte* {
    const auto arena = arenas_.find(r.arena);
    if (arena == arenas_.end() || r.offset > arena->second.span || r.bytes > arena->second.span - r.offset)
      return nullptr;
    return arena->second.trusted_base() + r.offset;
  };
  const Outcome no_region{StepCode::infrastructure, "the program names memory outside its arenas"};
  switch (s.op) {
    case Op::call: return call(program, s, result);
    case Op::copy: {
      std::byte *to = region(s.to), *from = region(s.from);
      if (!to || !from || s.to.bytes != s.from.bytes) return no_region;
      return device_.copy(s.stream, to, from, s.to.bytes);
    }
    case Op::fill: {
      std::byte* to = region(s.to);
      if (!to || s.pattern_bytes == 0 || s.to.bytes % s.pattern_bytes) return no_region;
      return device_.fill(s.stream, to, s.pattern, s.pattern_bytes, s.to.bytes / s.pattern_bytes);
    }
    case Op::load: return device_.load(s.stream);
    case Op::delay: return device_.delay(s.stream, s.a);
    case Op::skip: return {};
    case Op::lose: return lose(s);
    case Op::record: return device_.record(s.a, s.stream);
    case Op::wait: return device_.wait(s.stream, s.a);
    case Op::hold: return device_.hold(s.stream);
    case Op::unhold: return device_.unhold(s.stream);
    case Op::begin_capture: return device_.begin_capture(s.stream, static_cast<CaptureMode>(s.a));
    case Op::end_capture: return device_.end_capture(s.stream, s.a, result.graph);
    case Op::launch:
      if (const Outcome o = repeat(s, [&] { return device_.launch(s.a, s.stream); }); !o.ok()) return o;
      return device_.launch(s.a, s.stream);
    case Op::drop_graph: return device_.drop_graph(s.a);
    case Op::sync: return wait_for(s.stream);
    case Op::sync_device: {
      PhaseGuard phase(box_, Phase::waiting);
      return device_.sync_device();
    }
    case Op::scribble:
      for (auto& frame : frames_) frame->scribble();
      return {};
    case Op::usage:
      result.host_bytes = host_bytes_held();
      return device_.usage(result.usage);
    case Op::schedule:
      device_.schedule({(s.a & 1) != 0, s.to.offset, (s.a & 2) != 0});
      return {};
    case Op::reset:
      // Holds and captures end first: a release that waits for the device would meet those of a program that failed.
      if (const Outcome o = device_.reset(); !o.ok()) return o;
      while (!prepared_.empty())
        if (const Outcome o = release(prepared_.begin()->first, nullptr); !o.ok()) return o;
      return {};
    case Op::prepare: return prepare(program, s, result);
    case Op::release: return release(s.to.offset, &result);
    case Op::facts: {
      assay_call call{};
      if (const Outcome entered = enter_group(s.group, call); !entered.ok()) return entered;
      result.entries = box_.calls;
      if (!call.group) return {};
      result.group_rank = call.group->rank;
      result.group_size = call.group->world_size;
      result.group_id = call.group->id;
      return {};
    }
    case Op::meet: {
      const auto group = groups_.find(s.a);
      return group == groups_.end() ? Outcome{StepCode::infrastructure, "the program names no such group"}
                                    : group->second->control();
    }
  }
  return {StepCode::infrastructure, "the program has a step of unknown kind"};
}

// What a finished step says about receipts.
void Executor::tell_receipts(const ProgramStep& s, const ProgramResult& result) {
  switch (s.op) {
    case Op::begin_capture: return receipts_.begun_capture(s.stream);
    case Op::end_capture: return receipts_.ended_capture(s.a, result.graph);
    case Op::launch: return receipts_.launched(s.a, s.stream);
    case Op::drop_graph: return receipts_.dropped(s.a);
    case Op::sync: return receipts_.waited_for(s.stream);
    case Op::sync_device: return receipts_.waited_for_device();
    case Op::reset: return receipts_.reset();
    default: return;
  }
}

// The black box says that candidate code was running: blame finds this rank as it would find a candidate's.
Outcome Executor::lose(const ProgramStep& s) {
  PhaseGuard phase(box_, Phase::entry);
  ::usleep(1000 * s.pattern);
  switch (static_cast<Loss>(s.a)) {
    case Loss::fails: return {StepCode::entry_failed, "this rank fails, as the trial demands"};
    case Loss::exits: _exit(0);
    case Loss::hangs: break;
  }
  while (true) ::pause();
}

void Executor::run(Program& program, std::optional<NamedCalls> named) {
  frames_.clear();
  receipts_.begin(std::move(named));
  box_.step = 0;
  bool failed = false;
  const Surroundings before = quick_surroundings();
  const std::uint64_t set_aside = device_.cache_set_aside();
  const std::uint32_t count = std::min(program.step_count, kMaxSteps);
  for (std::uint32_t i = 0; i < count; ++i) {
    box_.step = i;
    ProgramResult& result = program.results[i];
    result = ProgramResult{};
    if (failed) continue;
    Outcome outcome = step(program, program.steps[i], result);
    for (const auto& [id, group] : groups_)
      if (Outcome failure = group->take_failure(); !failure.ok()) outcome = std::move(failure);
    result.code = outcome.code;
    std::snprintf(result.text, sizeof result.text, "%s", outcome.text.c_str());
    failed = failed || !outcome.ok();
    if (!failed) tell_receipts(program.steps[i], result);
    program.done = i + 1;
  }
  if (count > 0)
    program.results[count - 1].surroundings |= changed(before, quick_surroundings()) |
                                               (device_.cache_set_aside() != set_aside ? kCache : 0u);
  // A capture that stays open would refuse what the worker has to do before the next program.
  if (failed) device_.abandon_captures();
  // A process that a kernel left behind, rather than an entry.
  if (count > 0 && children_left) program.results[count - 1].children += children_left();
}

}  // namespace assay
