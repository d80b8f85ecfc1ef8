#include <algorithm>
#include <chrono>
#include <cstring>

#include "harness/case/generate.hpp"
#include "harness/drive/bench_state.hpp"
#include "harness/tensor/cells.hpp"

namespace assay {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kDeadlineFactor = 10, kShrinkFactor = 4;
constexpr double kLeastMs = 2000, kLeastShrinkMs = 250, kMostMs = 120000;
constexpr double kLeastCudaMs = 6000;  // the driver takes up to 3.5 s to report a trap [m, H200]
constexpr double kMsPerCell = 2e-4;
constexpr double kLeastManyMs = 10000;  // of very many calls: a machine's stall of 2 s was seen among them

// Calls and replays of a program: what its time is shared by.
double work_steps(const Program& program) {
  double steps = 0;
  for (std::uint32_t i = 0; i < program.step_count; ++i)
    if (const ProgramStep& step = program.steps[i]; step.op == Op::call || step.op == Op::launch) steps += 1.0 + step.pattern;
  return std::max(1.0, steps);
}

bool repeats(const Program& program) {
  return std::any_of(program.steps, program.steps + program.step_count, [](const ProgramStep& step) {
    return (step.op == Op::call || step.op == Op::launch) && step.pattern > 0;
  });
}

}  // namespace

// A group's control and a candidate's init run kernels that wait for each other, as calls do. Whoever holds this may hold
// `allocating` from before; nobody takes that while holding a turn.
DeviceTurns::Hold Bench::State::joining() {
  return grouped && domain.type() == DeviceType::cuda ? turns.joining() : DeviceTurns::Hold();
}

// A fresh set of workers with device, library and group. A fault here ends it.
std::optional<Fault> Bench::State::start() {
  mapped.clear();
  initialised.clear();
  joined.clear();
  unused = true;
  started += static_cast<std::uint64_t>(world);
  workers.reset();
  workers = std::make_unique<RankSet>(config.worker, world, grouped);
  open_ledger();
  std::optional<DeviceTurns::Hold> turn;
  try {
    if (auto fault = workers->open(ledger.get(), [&] { turn.emplace(joining()); })) return fault;
  } catch (const LibraryRefused& refused) {
    // The judge could load it, and maybe other ranks: no rank's refusal alone is the candidate's.
    Fault fault;
    fault.reason = Reason::unobserved;
    fault.phase = Phase::load;
    fault.text = std::string("a worker could not load the library that was loaded before: ") + refused.what();
    workers.reset();
    return fault;
  }
  device = (*workers)[0].device_description();
  return std::nullopt;
}

// Workers with all arenas mapped and this variant ready.
std::optional<Fault> Bench::State::ready(std::uint32_t variant) {
  if (!workers || !workers->alive() || workers->world() != world || workers->grouped() != grouped)
    if (auto fault = start()) return fault;
  if (std::exchange(unused, false)) history.clear();
  const DeviceTurns::Hold turn = joining();
  for (std::uint32_t id = 0; id < kArenas; ++id) {
    if (!arenas.get(id) || mapped[id] == arenas.generation(id)) continue;
    std::vector<const Arena*> of_ranks;
    for (int r = 0; r < world; ++r) of_ranks.push_back(arenas.get(id, r));
    if (auto fault = workers->map(id, of_ranks, arenas.read_only(id) ? Access::read_only : Access::read_write,
                                  id == kShelf            ? WorkerSession::Use::shelf
                                  : arenas.hosted(id) ? WorkerSession::Use::hosted
                                                      : WorkerSession::Use::lent))
      return fault;
    mapped[id] = arenas.generation(id);
  }
  std::vector<std::uint32_t> called(also_ready.begin(), also_ready.end());
  called.insert(called.begin(), variant);
  for (const std::uint32_t v : called) {
    if (initialised.count({v, kWorldGroup})) continue;
    if (auto fault = workers->init(v)) return fault;
    initialised.insert({v, kWorldGroup});
  }
  for (const Binding& b : bindings) {
    if (b.members.empty() || initialised.count({variant, b.group})) continue;
    if (joined.insert(b.group).second) workers->join(b.group, b.members);
    if (auto fault = workers->init(variant, b.group, b.members)) return fault;
    initialised.insert({variant, b.group});
  }
  return std::nullopt;
}

void Bench::State::bury() {
  if (!workers) return;
  output = workers->output();
  workers.reset();
}

// The control collective before a blamed trial was its first step; the one after it is that of a fresh set's joining,
// which the next trial goes on with. Red, it was the machine that failed.
void Bench::State::control_afterwards() {
  if (!grouped || !seen->fault || seen->fault->verdict != Verdict::fail) return;
  try {
    const DeviceTurns::Hold allocating = turns.allocating();
    if (start()) workers.reset();
  } catch (const DeviceError& red) {
    workers.reset();
    seen->fault->verdict = Verdict::no_decision;
    seen->fault->reason = Reason::harness;
    seen->fault->text += std::string("; but afterwards ") + red.what();
  }
}

// From the slowest pass so far of one call or replay, times those in the program. Large outputs get what a slow kernel
// would need before anything is known.
int Bench::State::deadline_ms(std::int64_t cells) const {
  const double calls = work_steps(*program);
  double least = shrinking ? kLeastShrinkMs : domain.type() == DeviceType::cuda ? kLeastCudaMs : kLeastMs;
  if (repeats(*program)) least = std::max(least, kLeastManyMs);
  const double factor = shrinking ? kShrinkFactor : kDeadlineFactor;
  const double wanted = calls * std::max(factor * slowest_ms, kMsPerCell * static_cast<double>(cells));
  return static_cast<int>(std::clamp(wanted, least, kMostMs));
}

// One run in the workers. What they wrote is copied: judged is the judge's own.
RankSet::Run Bench::State::run(int deadline, const std::string& named) {
  const std::uint32_t steps = program->step_count;
  for (int r = 0; r < world; ++r) {
    Program& theirs = (*workers)[r].program();
    theirs.step_count = steps;
    theirs.tensor_count = program->tensor_count;
    theirs.done = 0;
    std::copy_n(program->tensors, program->tensor_count, theirs.tensors);
    for (std::uint32_t i = 0; i < steps; ++i) theirs.steps[i] = script.step_of(static_cast<int>(i), r);
    for (std::uint32_t i = 0; i < steps; ++i) theirs.results[i] = ProgramResult{};
  }
  output.clear();
  const auto start = Clock::now();
  RankSet::Run outcome = workers->run(deadline, named);
  const double ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  ran_ms += ms;
  results.resize(static_cast<std::size_t>(world));
  for (int r = 0; r < world; ++r) {
    const ProgramResult* theirs = (*workers)[r].program().results;
    results[static_cast<std::size_t>(r)].assign(theirs, theirs + steps);
    if (steps > 0) seen_by(r).surroundings |= results[static_cast<std::size_t>(r)].back().surroundings;
  }
  if (!outcome.fault) slowest_ms = std::max(slowest_ms, ms / work_steps(*program));
  return outcome;
}

namespace {

void compare_input(InputSeen& in, const Piece& piece, std::span<const std::byte> bytes,
                   const std::vector<std::byte>& image) {
  if (std::memcmp(bytes.data(), image.data(), bytes.size()) == 0) return;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] == image[i] || in.changed++ != 0) continue;
    in.text = "byte " + std::to_string(static_cast<std::int64_t>(i) - static_cast<std::int64_t>(piece.box.cell0_bytes)) +
              " from cell 0 of " + in.spec->name;
  }
}

}  // namespace

void Bench::State::read_call(Deferred& d, const std::vector<std::byte>& shelf, int rank) {
  CallSeen call;
  call.label = d.label;
  call.c = d.c;
  call.reference = d.reference;
  call.informative = d.informative;
  call.rows = d.notes.rows;
  call.relation = d.notes.relation;
  call.mutated = d.notes.mutated;
  call.changed_scalar = d.notes.changed_scalar;
  if (d.notes.call >= 0) {
    const ProgramResult& r = results[static_cast<std::size_t>(rank)][static_cast<std::size_t>(d.notes.call)];
    call.code = r.code;
    call.status = r.status;
    call.binding = r.binding;
    call.nanoseconds = r.nanoseconds;
  }
  for (std::size_t at = 0; at < d.reads.size();) {
    const Placed& p = *d.reads[at].placed;
    OutputSeen out;
    InputSeen in;
    out.spec = in.spec = p.spec;
    if (p.spec->kind == 'o') {
      out.poison_bits = d.poisons.at(&p);
      out.actual = Tensor(p.shape, p.dtype);
    }
    for (; at < d.reads.size() && d.reads[at].placed == &p; ++at) {
      const State::Read& read = d.reads[at];
      const Piece& piece = p.pieces[read.piece];
      const std::span<const std::byte> bytes(shelf.data() + read.offset, piece.box.region_bytes);
      if (p.spec->kind == 'o') {
        CanaryReport canary = scan(bytes, piece.box, Guard::canary);
        if (!canary.clean() && out.canary.clean()) out.canary = std::move(canary);
        const PoisonReport poison = scan_poison(bytes, piece.box, out.poison_bits);
        out.poison.count += poison.count;
        for (const std::int64_t cell : poison.cells)
          if (out.poison.cells.size() < most_described_cells) out.poison.cells.push_back(piece.first_cell + cell);
        const Tensor cells = extract(bytes, piece.box);
        std::memcpy(static_cast<std::byte*>(out.actual.view().data) +
                        static_cast<std::size_t>(piece.first_cell) * size_of(p.dtype),
                    cells.view().data, static_cast<std::size_t>(cells.size()) * size_of(p.dtype));
      } else {
        compare_input(in, piece, bytes, read.image.of(rank));
      }
    }
    if (p.spec->kind == 'o')
      call.outputs.push_back(std::move(out));
    else
      call.inputs.push_back(std::move(in));
  }
  Observation& to = seen_by(rank);
  (d.notes.bystander ? to.bystanders : to.calls).push_back(std::move(call));
}

// Turns what the program brought back from a rank into what was seen, for the steps that were done.
void Bench::State::settle(int rank, int steps_done) {
  std::vector<std::byte> shelf(down_bytes);
  std::uint64_t wanted = 0;
  for (const Deferred& d : deferred)
    if (d.last_step < steps_done && d.ranks >> rank & 1)
      for (const Read& read : d.reads)
        wanted = std::max(wanted, read.offset + read.placed->pieces[read.piece].box.region_bytes);
  if (wanted) std::memcpy(shelf.data(), arenas.at(kShelf, up_bytes, rank), wanted);  // judged is the judge's own copy
  for (Deferred& d : deferred) {
    if (d.last_step >= steps_done || !(d.ranks >> rank & 1)) continue;
    if (d.take) {
      d.take(seen_by(rank), results[static_cast<std::size_t>(rank)][static_cast<std::size_t>(d.result)]);
    } else if (d.say) {
      std::string text;
      for (const Read& read : d.reads) {
        const std::byte* bytes = shelf.data() + read.offset;
        const std::vector<std::byte>& image = read.image.of(rank);
        if (std::memcmp(bytes, image.data(), image.size()) == 0) continue;
        std::uint64_t changed = 0;
        for (std::size_t i = 0; i < image.size(); ++i) changed += bytes[i] != image[i];
        text = std::to_string(changed) + " bytes of " + read.placed->spec->name + " changed";
      }
      d.say(seen_by(rank), text);
    } else if (d.at_end) {
      for (const Read& read : d.reads) {
        InputSeen in;
        in.spec = read.placed->spec;
        const std::vector<std::byte>& image = read.image.of(rank);
        compare_input(in, read.placed->pieces[read.piece], {shelf.data() + read.offset, image.size()}, image);
        Observation& by = seen_by(rank);
        (read.placed->weight ? by.weights : by.large_inputs).push_back(std::move(in));
      }
    } else {
      read_call(d, shelf, rank);
    }
  }
}

// The steps that a rank got done, up to the first that was not ok.
int Bench::State::done_by(int rank) const {
  const auto& of_rank = results[static_cast<std::size_t>(rank)];
  const auto bad = std::find_if(of_rank.begin(), of_rank.end(), [](const auto& r) { return r.code != StepCode::ok; });
  return static_cast<int>(bad - of_rank.begin());
}

// A step of some rank that was not ok ends the trial on all.
void Bench::State::note_failed_step(int rank) {
  const int step = done_by(rank);
  const ProgramResult& r = results[static_cast<std::size_t>(rank)][static_cast<std::size_t>(step)];
  seen->failed_op = program->steps[step].op;
  seen->failed_code = r.code;
  seen->failed_text = std::string(r.text, strnlen(r.text, sizeof r.text));
  for (const auto& of_rank : results)
    seen->refusing += of_rank[static_cast<std::size_t>(step)].status == ASSAY_UNSUPPORTED;
  seen->failed_label = script.label_of(step) + (world > 1 ? ", rank " + std::to_string(rank) : "");
}

// The program in the workers; nothing where they could not be made ready, and the observation says why.
std::optional<RankSet::Run> Bench::State::execute(const SlotSpec& slot, const VariantInfo& variant,
                                                  std::optional<int> deadline) {
  for (const int step : down_steps) program->steps[step].to.offset += up_bytes;
  {
    const DeviceTurns::Hold allocating = turns.allocating();
    arenas.shelve(up_bytes + down_bytes);
    if (auto fault = ready(variant.index)) {
      seen->fault = std::move(fault);
      seen->failed_label = "before the first call";
      return std::nullopt;
    }
  }
  std::int64_t cells = 0;
  for (const Binding& b : bindings)
    cells = std::max({cells, slot.output_cells(b.c), static_cast<std::int64_t>(work_of(slot, b.c) / 64)});
  for (int r = 0; r < world; ++r) upload(r);
  const std::string named = named_calls(slot, variant);
  const DeviceTurns::Hold turn = turns.turn();
  return run(deadline.value_or(deadline_ms(cells)), named);
}

bool Bench::flush_and_lose(int rank, Loss how, int deadline_ms) {
  State& s = *state_;
  wait_for_pushes();
  const int steps = s.script.steps();
  const auto start = Clock::now();
  if (const auto outcome = s.execute(*slot_, variant_, deadline_ms)) {
    LossSeen& loss = s.seen->loss;
    loss.rank = rank;
    loss.how = how;
    loss.milliseconds = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    loss.deadline_ms = deadline_ms;
    loss.found = outcome->fault ? outcome->fault->rank : outcome->failed;
    if (outcome->fault) loss.text = outcome->fault->text;
    for (int r = 0; r < s.world; ++r)
      if (r != rank && s.done_by(r) == steps) loss.completed.push_back(r);
  }
  s.bury();
  for (Binding& b : s.bindings) b.released = true;  // with the workers that had prepared for it
  s.begin(*slot_, variant_.index);
  return !s.seen->fault;
}

bool Bench::flush() {
  State& s = *state_;
  wait_for_pushes();
  if (s.script.steps() == 0) return !s.seen->fault && !s.seen->failed_op;
  const int steps = s.script.steps();
  if (auto ran = s.execute(*slot_, variant_, std::nullopt)) {
    RankSet::Run& outcome = *ran;
    if (outcome.fault) {  // a worker's end leaves nothing to trust
      s.seen->failed_label = s.script.label_of(std::min(static_cast<int>(outcome.fault->step), steps - 1));
      s.seen->fault = std::move(outcome.fault);
    } else {
      for (int r = 0; r < s.world; ++r) {
        if (outcome.failed < 0 && s.done_by(r) < steps) outcome.failed = r;
        if ((*s.workers)[r].alive() && s.done_by(r) > 0) s.settle(r, s.done_by(r));
      }
      if (outcome.failed >= 0) s.note_failed_step(outcome.failed);
    }
  }
  if (s.ledger) s.seen->receipts = s.ledger->book();
  const bool well = !s.seen->fault && !s.seen->failed_op;
  // Dead workers are buried, and those whose device context is poisoned, or whose group cannot meet again.
  if (s.seen->fault || (s.seen->failed_op && (s.seen->failed_code == StepCode::device_fault || !s.workers->alive())))
    s.bury();
  s.control_afterwards();
  s.begin(*slot_, variant_.index);
  return well;
}

}  // namespace assay
