#include <algorithm>
#include <stdexcept>

#include "harness/drive/bench.hpp"

namespace assay {
namespace {

// DLPack's codes; E4M3 and E2M1 travel as uint8.
void set_dtype(ProgramTensor& t, DType dtype) {
  switch (dtype) {
    case DType::f32: t.code = kDLFloat; break;
    case DType::f16: t.code = kDLFloat; break;
    case DType::f64: t.code = kDLFloat; break;
    case DType::bf16: t.code = kDLBfloat; break;
    case DType::i32: t.code = kDLInt; break;
    case DType::i64: t.code = kDLInt; break;
    case DType::u8: t.code = kDLUInt; break;
  }
  t.bits = static_cast<std::uint8_t>(8 * size_of(dtype));
  t.lanes = 1;
}

ProgramRegion region_of(const Placed& tensor, std::size_t piece) {
  const Piece& p = tensor.pieces[piece];
  return {tensor.arena, 0, p.arena_offset, p.box.region_bytes};
}

}  // namespace

Script::Script(Program& program, const Case& schedule, const SlotSpec& slot, std::uint32_t variant)
    : program_(program), slot_(slot), variant_(variant) {
  program.step_count = program.tensor_count = program.done = 0;
  program.keep_going = 0;
  program.schedule_early = schedule.early;
  program.schedule_threads = 0;
  program.block_seed = schedule.block_seed;
}

int Script::simple(Op op, std::uint32_t stream, std::uint32_t a) {
  if (full()) throw std::logic_error("a program has at most " + std::to_string(kMaxSteps) + " steps");
  ProgramStep& step = program_.steps[program_.step_count];
  step.op = op;
  step.stream = stream;
  step.a = a;
  step.argument_count = 0;
  return static_cast<int>(program_.step_count++);
}

int Script::call(const Binding& binding, std::uint32_t stream) {
  const int index = simple(Op::call, stream, variant_);
  ProgramStep& step = program_.steps[index];
  std::size_t tensor = 0;
  for (const ArgumentSpec& a : slot_.arguments) {
    ProgramArgument& to = step.arguments[step.argument_count++];
    to = ProgramArgument{};
    to.kind = a.kind;
    if (a.kind == 'i' || a.kind == 'o') {
      if (program_.tensor_count >= kMaxTensors) throw std::logic_error("a program has too many tensors");
      const Placed& p = binding.tensors[tensor++];
      ProgramTensor& t = program_.tensors[program_.tensor_count];
      t = ProgramTensor{};
      t.arena = p.arena;
      t.offset = p.cell0;
      set_dtype(t, p.dtype);
      if (p.shape.size() > kMaxRank) throw std::logic_error("a tensor has too many dimensions");
      t.rank = static_cast<std::int32_t>(p.shape.size());
      std::copy(p.shape.begin(), p.shape.end(), t.shape);
      std::copy(p.strides.begin(), p.strides.end(), t.strides);
      to.tensor = program_.tensor_count++;
    } else if (a.kind == 'd') {
      to.real = binding.c.scalars.at(a.name);
    } else {
      to.integer = static_cast<std::int64_t>(binding.c.scalars.at(a.name));
    }
  }
  return index;
}

int Script::copy(std::uint32_t stream, const Placed& to, std::uint64_t from_offset, std::uint32_t from_arena,
                 std::size_t piece) {
  const int index = simple(Op::copy, stream);
  ProgramStep& step = program_.steps[index];
  step.to = region_of(to, piece);
  step.from = {from_arena, 0, from_offset, step.to.bytes};
  return index;
}

int Script::fill(std::uint32_t stream, const Placed& to, std::size_t piece, std::uint32_t pattern,
                 std::uint32_t pattern_bytes) {
  const int index = simple(Op::fill, stream);
  ProgramStep& step = program_.steps[index];
  step.to = region_of(to, piece);
  step.pattern = pattern;
  step.pattern_bytes = pattern_bytes;
  return index;
}

void Script::keep_going() { program_.keep_going = 1; }
void Script::threads() { program_.schedule_threads = 1; }
void Script::blocks(std::uint64_t seed, bool early) {
  program_.block_seed = seed;
  program_.schedule_early = early;
}
int Script::steps() const noexcept { return static_cast<int>(program_.step_count); }
bool Script::full() const noexcept { return program_.step_count >= kMaxSteps; }

}  // namespace assay
