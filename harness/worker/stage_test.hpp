// stage_test.hpp: real workers for tests: one session with two lent arenas, and candidates that misbehave.
// Who includes it: session_test.cc, isolation_test.cc.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>

#include "harness/worker/isolation.hpp"
#include "harness/worker/session.hpp"

namespace assay {

inline const std::string kRight = ASSAY_HOST_KERNELS;

inline std::set<pid_t> children() {
  std::set<pid_t> pids;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream list(task.path() / "children");
    for (pid_t pid; list >> pid;) pids.insert(pid);
  }
  return pids;
}

[[maybe_unused]] inline std::size_t open_descriptors() {
  const auto list = std::filesystem::directory_iterator("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(list), end(list)));
}

inline constexpr const char* kSilu = "activation.silu_and_mul";
inline constexpr const char* kNorm = "norm.rmsnorm";

// One worker with two lent arenas and a program of one call in fp32, all inputs 1.
class Stage {
 public:
  explicit Stage(const std::string& library, std::uint64_t data_limit = 0,
                 std::shared_ptr<const Isolation> isolation = nullptr)
      : memory_(make_host_memory()),
        inputs_(memory_->create({kSpan, {{0, kSpan}}})),
        outputs_(memory_->create({kSpan, {{0, kSpan}}})),
        session_(config(library, data_limit, std::move(isolation))) {}

  std::optional<Fault> load() {
    if (auto fault = session_.open_device()) return fault;
    if (auto fault = session_.load()) return fault;
    if (auto fault = session_.map(0, *inputs_, Access::read_only)) return fault;
    return session_.map(1, *outputs_, Access::read_write);
  }

  std::uint32_t variant_of(const std::string& slot) {
    const auto table = nlohmann::json::parse(session_.description()).at("variants");
    for (std::size_t i = 0; i < table.size(); ++i)
      if (table[i].dump().find(slot) != std::string::npos) return static_cast<std::uint32_t>(i);
    throw std::runtime_error("no variant of " + slot);
  }

  // silu: x (rows, 2 width), out (rows, width); norm: x (rows, width), weight (width), out (rows, width).
  std::optional<Fault> call(const std::string& slot, std::int64_t rows, std::int64_t width, int deadline_ms = 2000) {
    const bool norm = slot == "norm.rmsnorm";
    Program& p = session_.program();
    p.step_count = p.tensor_count = p.done = 0;
    step(Op::reset);
    ProgramStep& call = step(Op::call);
    call.a = variant_of(slot);
    tensor(call, 'i', 0, 0, {rows, norm ? width : 2 * width});
    if (norm) tensor(call, 'i', 0, kSpan / 2, {width});
    tensor(call, 'o', 1, 0, {rows, width});
    if (norm) {
      call.arguments[call.argument_count] = {};
      call.arguments[call.argument_count].kind = 'd';
      call.arguments[call.argument_count++].real = 1e-6;
    }
    step(Op::sync);
    auto* x = reinterpret_cast<float*>(inputs_->base());
    std::fill(x, x + kSpan / sizeof(float), 1.0F);
    auto* out = reinterpret_cast<float*>(outputs_->base());
    std::fill(out, out + kSpan / sizeof(float), -7.0F);
    return session_.run(deadline_ms);
  }

  // A program of these steps on stream 0, with no reset before them.
  std::optional<Fault> run_steps(std::initializer_list<Op> ops) {
    session_.program().step_count = session_.program().tensor_count = session_.program().done = 0;
    for (const Op op : ops) step(op);
    return session_.run(2000);
  }
  StepCode code(std::size_t index) { return session_.program().results[index].code; }

  ProgramResult& call_result() { return session_.program().results[1]; }
  float output(std::int64_t cell) const { return reinterpret_cast<const float*>(outputs_->base())[cell]; }
  WorkerSession& session() { return session_; }

 private:
  static constexpr std::uint64_t kSpan = 1 << 20;

  static WorkerConfig config(const std::string& library, std::uint64_t data_limit,
                             std::shared_ptr<const Isolation> isolation) {
    WorkerConfig c;
    c.worker = ASSAY_WORKER;
    c.library = library;
    c.data_limit = data_limit;
    c.isolation = std::move(isolation);
    return c;
  }
  ProgramStep& step(Op op) {
    Program& p = session_.program();
    ProgramStep& s = p.steps[p.step_count++];
    s = ProgramStep{};
    s.op = op;
    return s;
  }
  void tensor(ProgramStep& step, char kind, std::uint32_t arena, std::uint64_t offset, const Extents& shape) {
    Program& p = session_.program();
    ProgramTensor& t = p.tensors[p.tensor_count];
    t = ProgramTensor{};
    t.arena = arena;
    t.offset = offset;
    t.code = kDLFloat;
    t.bits = 32;
    t.rank = static_cast<std::int32_t>(shape.size());
    const Extents strides = contiguous_strides(shape);
    std::copy(shape.begin(), shape.end(), t.shape);
    std::copy(strides.begin(), strides.end(), t.strides);
    ProgramArgument& a = step.arguments[step.argument_count++];
    a = {};
    a.kind = kind;
    a.tensor = p.tensor_count++;
  }

  std::unique_ptr<MemoryDomain> memory_;
  std::unique_ptr<Arena> inputs_, outputs_;
  WorkerSession session_;
};

#ifdef ASSAY_FAULTY  // absent from asan builds

inline std::string faulty(const std::string& stem) { return std::string(ASSAY_FAULTY) + "/" + stem + ".so"; }

struct Misdeed {
  const char* stem;
  std::int64_t rows, width;
  Reason reason;
  Phase phase;
  int deadline_ms = 2000;
  std::uint64_t data_limit = 0;
};

inline const Misdeed kMisdeeds[] = {
    {"silu_segfaults_in_entry", 8, 64, Reason::crash, Phase::entry},
    {"norm_segfaults_in_kernel", 8, 65, Reason::crash, Phase::host_kernel},
    {"silu_hangs_in_entry", 3, 4, Reason::timeout, Phase::entry, 300},
    {"norm_hangs_in_kernel", 3, 4, Reason::timeout, Phase::host_kernel, 300},
    {"norm_exits", 1, 4, Reason::exit, Phase::entry},
    {"silu_aborts", 1, 4, Reason::crash, Phase::entry},
    {"norm_throws", 1, 4, Reason::crash, Phase::entry},
    {"norm_stack_overflow", 1, 4, Reason::crash, Phase::entry},
    {"norm_closes_descriptors", 1, 4, Reason::descriptors, Phase::after_entry},
    {"silu_forks", 1, 4, Reason::forked, Phase::after_entry},
    {"silu_writes_input", 2, 4, Reason::device_fault, Phase::host_kernel},
    {"silu_exhausts_memory", 1, 4, Reason::out_of_memory, Phase::entry, 2000, 512ULL << 20},
};

#endif  // ASSAY_FAULTY

}  // namespace assay
