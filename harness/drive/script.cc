#include "harness/drive/script.hpp"

#include <algorithm>
#include <cstdio>
#include <stdexcept>

#include "harness/tensor/philox.hpp"

namespace assay {
namespace {

// DLPack's codes; E4M3 and E2M1 travel as uint8.
std::uint8_t code_of(DType dtype) noexcept {
  switch (dtype) {
    case DType::f32:
    case DType::f16:
    case DType::f64: return kDLFloat;
    case DType::bf16: return kDLBfloat;
    case DType::i32:
    case DType::i64: return kDLInt;
    case DType::u8: return kDLUInt;
  }
  return kDLOpaqueHandle;
}

}  // namespace

Placed& Binding::named(std::string_view argument) {
  for (Placed& p : tensors)
    if (p.spec->name == argument) return p;
  throw std::out_of_range("no tensor " + std::string(argument));
}

RankMask Binding::ranks() const noexcept {
  RankMask mask = members.empty() ? kAllRanks : 0;
  for (const int rank : members) mask |= RankMask{1} << rank;
  return mask;
}

int Binding::place_of(int rank) const noexcept {
  if (members.empty()) return rank;
  const auto at = std::find(members.begin(), members.end(), rank);
  return at == members.end() ? 0 : static_cast<int>(at - members.begin());
}

Schedule schedule_of(const Case& c) noexcept { return {c.early, c.block_seed, false}; }

ProgramRegion region_of(const Placed& tensor, std::size_t piece) noexcept {
  const Piece& p = tensor.pieces[piece];
  return {tensor.arena, 0, p.arena_offset, p.box.region_bytes};
}

void Script::begin(const SlotSpec& slot, std::uint32_t variant) {
  program_.step_count = program_.tensor_count = program_.done = 0;
  slot_ = &slot;
  variant_ = variant;
  labels_.clear();
  calls_.clear();
  ranks_.clear();
}

int Script::simple(Op op, std::uint32_t stream, std::uint32_t a) {
  if (program_.step_count >= kMaxSteps)
    throw std::logic_error("a program has at most " + std::to_string(kMaxSteps) + " steps");
  ProgramStep& step = program_.steps[program_.step_count];
  step.op = op;
  step.stream = stream;
  step.a = a;
  step.argument_count = 0;
  step.pattern = 0;
  labels_.push_back(label_);
  ranks_.push_back(kAllRanks);
  return static_cast<int>(program_.step_count++);
}

std::uint32_t Script::describe(const Placed& p) {
  if (program_.tensor_count >= kMaxTensors) throw std::logic_error("a program has too many tensors");
  if (p.shape.size() > kMaxRank) throw std::logic_error("a tensor has too many dimensions");
  ProgramTensor& t = program_.tensors[program_.tensor_count];
  t = ProgramTensor{};
  t.arena = p.arena;
  t.offset = p.cell0;
  t.code = code_of(p.dtype);
  t.bits = static_cast<std::uint8_t>(8 * size_of(p.dtype));
  t.rank = static_cast<std::int32_t>(p.shape.size());
  std::copy(p.shape.begin(), p.shape.end(), t.shape);
  std::copy(p.strides.begin(), p.strides.end(), t.strides);
  return program_.tensor_count++;
}

int Script::prepare(const Binding& binding, std::uint32_t stream, bool measured) {
  const int index = simple(Op::prepare, stream, variant_);
  only(index, binding.ranks());
  ProgramStep& step = program_.steps[index];
  step.to = {0, 0, binding.token, 0};
  step.pattern = measured ? 1 : 0;
  step.argument_count = kPrepareTensors + kPrepareIntegers;
  for (std::uint32_t i = 0; i < step.argument_count; ++i) step.arguments[i] = ProgramArgument{};
  for (const Placed& p : binding.tensors) {
    if (!p.weight) continue;
    ProgramArgument& to = step.arguments[weight_place(p.spec->name)];
    to.kind = 'i';
    to.tensor = describe(p);
  }
  const WeightFacts f = slot_->weight_facts(binding.c);
  const std::int64_t integers[kPrepareIntegers] = {f.num_experts, f.hidden_size,          f.intermediate,
                                                   f.group_size,  f.top_k,                f.fused_shared_experts,
                                                   f.tp_size,     f.ep_size,              f.ep_rank};
  for (std::uint32_t i = 0; i < kPrepareIntegers; ++i) {
    step.arguments[kPrepareTensors + i].kind = 'l';
    step.arguments[kPrepareTensors + i].integer = integers[i];
  }
  const char* const words[kPrepareWords] = {f.form, f.activation, f.layout};
  for (std::uint32_t i = 0; i < kPrepareWords; ++i)
    std::snprintf(step.words[i], sizeof step.words[i], "%s", words[i]);
  return index;
}

int Script::release(const Binding& binding, std::uint32_t stream) {
  const int index = simple(Op::release, stream, variant_);
  only(index, binding.ranks());
  program_.steps[index].to = {0, 0, binding.token, 0};
  return index;
}

int Script::facts() {
  const int index = simple(Op::facts, 0);
  program_.steps[index].group = slot_->kind == Kind::collective ? 1 : 0;
  return index;
}

int Script::call(const Binding& binding, std::uint32_t stream) { return call(binding, stream, variant_); }

int Script::call(const Binding& binding, std::uint32_t stream, std::uint32_t variant) {
  const int index = simple(Op::call, stream, variant);
  if (variant == variant_) calls_.emplace_back(index, &binding);  // receipts are the trial's variant's
  ProgramStep& step = program_.steps[index];
  step.group = binding.group;
  only(index, binding.ranks());
  std::size_t tensor = 0;
  for (const ArgumentSpec& a : slot_->arguments) {
    ProgramArgument& to = step.arguments[step.argument_count++];
    to = ProgramArgument{};
    to.kind = a.kind;
    if (a.kind == 'i' || a.kind == 'o') {
      to.tensor = describe(binding.tensors[tensor++]);
    } else if (a.kind == 'p') {
      to.token = binding.token;
    } else if (a.kind == 'd') {
      to.real = slot_->scalar(a, binding.c);
    } else {
      to.integer = static_cast<std::int64_t>(slot_->scalar(a, binding.c));
    }
  }
  return index;
}

void Script::repeat(int step, std::uint32_t more) { program_.steps[step].pattern = more; }

int Script::copy(std::uint32_t stream, ProgramRegion to, ProgramRegion from) {
  const int index = simple(Op::copy, stream);
  program_.steps[index].to = to;
  program_.steps[index].from = from;
  return index;
}

int Script::blank(std::uint32_t stream, const Placed& tensor, std::size_t piece, std::uint32_t byte) {
  const int index = simple(Op::fill, stream);
  ProgramStep& step = program_.steps[index];
  step.to = region_of(tensor, piece);
  step.pattern = byte;
  step.pattern_bytes = 1;
  return index;
}

int Script::delay(std::uint32_t stream, std::uint32_t most, std::uint64_t key) {
  const int index = simple(Op::delay, stream, most);
  program_.steps[index].to = {0, 0, key, 0};
  return index;
}

int Script::lose(int rank, Loss how, std::uint32_t after_ms) {
  const int index = simple(Op::lose, 0, static_cast<std::uint32_t>(how));
  program_.steps[index].pattern = after_ms;
  only(index, RankMask{1} << rank);
  return index;
}

void Script::only(int step, RankMask ranks) { ranks_[static_cast<std::size_t>(step)] = ranks; }

ProgramStep Script::step_of(int index, int rank) const {
  ProgramStep step = program_.steps[index];
  if (!(ranks_of(index) >> rank & 1)) step.op = Op::skip;
  if (step.op == Op::delay)
    step.a = static_cast<std::uint32_t>(mix64(step.to.offset + static_cast<std::uint64_t>(rank)) % (step.a + 1));
  return step;
}

int Script::schedule(const Schedule& schedule) {
  const int index = simple(Op::schedule, 0, (schedule.early ? 1u : 0u) | (schedule.threads ? 2u : 0u));
  program_.steps[index].to = {0, 0, schedule.block_seed, 0};
  return index;
}

}  // namespace assay
