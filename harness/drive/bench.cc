#include "harness/drive/bench.hpp"

#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <deque>
#include <stdexcept>
#include <unordered_map>

#include "harness/compare/comparators.hpp"
#include "harness/drive/arenas.hpp"
#include "harness/tensor/cells.hpp"
#include "harness/tensor/philox.hpp"

namespace assay {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kDeadlineFactor = 10, kShrinkFactor = 4;
constexpr double kLeastMs = 2000, kLeastShrinkMs = 250, kMostMs = 120000;
constexpr double kLeastCudaMs = 6000;  // the driver takes up to 3.5 s to report a trap [m, H200]
// Streams that no candidate is given: reads of its outputs, and the one that pushes.
constexpr std::uint32_t kMainStream = 0, kReadStream = 6;
constexpr std::uint64_t kShelfAlignment = 256, kShelfFlush = 64u << 20;
constexpr std::uint64_t kMostBindings = 4;         // sets of buffers that a drive makes of one case
constexpr double kMsPerCell = 2e-4;
constexpr std::size_t kHistoryParts = 512;
constexpr std::size_t kReferenceBytes = 256u << 20;

struct CachedReference {
  std::shared_ptr<const ReferenceResult> result;
  bool informative = true;
};

// Whether a kernel that does nothing would fail this case clearly, on every output.
bool is_informative(const SlotSpec& slot, DType run, const ReferenceResult& result) {
  for (const Expected& e : result.outputs)
    if (!null_check(slot.comparator, tolerance_for(run), e.expected.view()).informative) return false;
  return true;
}

// Judges that share a GPU take turns: two contexts with work at once are time-sliced in slices of milliseconds.
class DeviceTurn {
 public:
  explicit DeviceTurn(std::optional<int> lock) : fd_(lock.value_or(-1)) {
    while (fd_ >= 0 && flock(fd_, LOCK_EX) != 0 && errno == EINTR) {
    }
  }
  ~DeviceTurn() {
    if (fd_ >= 0) flock(fd_, LOCK_UN);
  }
  DeviceTurn(const DeviceTurn&) = delete;
  DeviceTurn& operator=(const DeviceTurn&) = delete;

 private:
  int fd_;
};

// Calls and replays of a program: what its time is shared by.
double work_steps(const Program& program) {
  double steps = 0;
  for (std::uint32_t i = 0; i < program.step_count; ++i)
    steps += program.steps[i].op == Op::call || program.steps[i].op == Op::launch;
  return std::max(1.0, steps);
}

std::uint64_t round_up(std::uint64_t n, std::uint64_t step) { return (n + step - 1) / step * step; }

LayoutRequest request_of(const SlotSpec& slot, const ArgumentSpec& a, const Case& c) {
  LayoutRequest request;
  request.dtype = slot.dtype(a, c);
  request.shape = slot.shape(a, c);
  request.alignment = static_cast<std::uint64_t>(a.alignment);
  if (const auto l = c.layouts.find(a.name); l != c.layouts.end()) {
    request.row_padding = request.shape.size() >= 2 ? l->second.pad : 0;
    request.offset = l->second.offset / static_cast<std::int64_t>(size_of(request.dtype));
  }
  return request;
}

// The bytes of a region with its cells, guards and padding.
Image paint_image(const Placed& p, const Piece& piece, std::optional<Guard> guard) {
  auto image = std::make_shared<std::vector<std::byte>>(piece.box.region_bytes);
  paint(*image, piece.box, guard.value_or(p.guard));
  if (p.spec->kind == 'o') {
    paint_poison(*image, piece.box, p.poison);
  } else {
    TensorView part = p.values.view();
    part.shape = piece.box.shape;
    part.strides = contiguous_strides(part.shape);
    part.data = static_cast<std::byte*>(part.data) + static_cast<std::size_t>(piece.first_cell) * size_of(p.dtype);
    deposit(*image, piece.box, part);
  }
  return image;
}

}  // namespace

struct Bench::State {
  // What a collect or probe step will be made of once the program has run.
  struct Read {
    Image image;                        // what was pushed; inputs and probed outputs are compared with it
    const Placed* placed = nullptr;
    std::size_t piece = 0;
    std::uint64_t offset = 0;           // on the shelf, from the start of what comes back
  };
  struct Deferred {
    int last_step = 0;                  // valid where the program got past it
    std::vector<Read> reads;
    // A collected call.
    bool call = false;
    Case c;
    std::string label;
    CollectNotes notes;
    std::vector<std::uint64_t> poisons; // one a tensor
    const Binding* binding = nullptr;
    std::shared_ptr<const ReferenceResult> reference;
    bool informative = true;
    // A probe, or an expected result.
    std::function<void(const std::string&)> say;
    std::function<void(const ProgramResult&)> take;
    int result = -1;
  };

  BenchConfig config;
  MemoryDomain& domain;
  ReferenceModule& references;
  Arenas arenas;
  std::unique_ptr<WorkerSession> session;
  std::map<std::uint32_t, std::uint64_t> mapped;   // arena -> generation, in the present worker
  std::map<std::uint32_t, bool> initialised;       // variants
  std::vector<TrialPart> history;
  std::deque<Binding> bindings;
  std::unordered_map<std::string, CachedReference> cache;
  std::size_t cache_bytes = 0;
  bool shrinking = false;
  double slowest_ms = 0;
  std::uint64_t started = 0;
  std::string device, output;

  // The program in the making, in memory of the judge's own.
  std::unique_ptr<Program> program = std::make_unique<Program>();
  Script script{*program};
  Observation* seen = nullptr;
  bool push_pending = false;                       // the next step waits for what was pushed
  std::uint64_t up_bytes = 0, down_bytes = 0;      // on the shelf
  std::vector<std::pair<Image, std::uint64_t>> uploads;
  std::vector<int> down_steps;                     // whose shelf offsets count from the end of what goes up
  std::deque<Deferred> deferred;

  State(BenchConfig c, MemoryDomain& d, ReferenceModule& r) : config(std::move(c)), domain(d), references(r), arenas(d) {}

  std::optional<Fault> ready(std::uint32_t variant);
  void bury();  // ends the worker; what it printed stays readable
  int deadline_ms(std::int64_t cells) const;
  void begin(const SlotSpec& slot, std::uint32_t variant);
  void upload();
  bool run(int deadline_ms);
  void settle(int steps_done);
  void read_call(Deferred&, const std::vector<std::byte>& shelf);
  std::uint64_t read_back(Deferred&, Placed&, bool only_outputs);
};

Bench::Bench(BenchConfig config, MemoryDomain& domain, ReferenceModule& references)
    : state_(std::make_unique<State>(std::move(config), domain, references)) {}
Bench::~Bench() = default;

DeviceType Bench::device() const noexcept { return state_->domain.type(); }

void Bench::use(const SlotSpec& slot, const VariantInfo& variant) {
  if (slot_ != &slot || variant_.id != variant.id) {
    state_->cache.clear();
    state_->cache_bytes = 0;
    state_->slowest_ms = 0;
  }
  slot_ = &slot;
  variant_ = variant;
}

void Bench::begin_trial(Observation& seen) {
  State& s = *state_;
  s.bindings.clear();
  s.arenas.begin_trial();
  s.seen = &seen;
  // Room for every set of buffers that a drive makes of its cases, before anything holds an offset.
  std::uint64_t need[2] = {1u << 16, 1u << 16};
  for (const Case& c : seen.trial.part.cases)
    for (const ArgumentSpec& a : slot_->arguments) {
      if (a.kind != 'i' && a.kind != 'o') continue;
      const Box box = lay_out(request_of(*slot_, a, c));
      need[a.kind == 'o'] += kMostBindings * (round_up(box.region_bytes, region_alignment) + 9 * region_alignment);
    }
  s.arenas.reserve(need[0], need[1]);
  s.begin(*slot_, variant_.index);
  s.script.label("start of the trial");
  s.script.simple(Op::reset, 0);
  s.script.schedule(schedule_of(seen.trial.part.cases.front()));
}

// A worker with device, library and this variant ready. A fault here ends the worker.
std::optional<Fault> Bench::State::ready(std::uint32_t variant) {
  if (session && !session->alive()) session.reset();
  if (!session) {
    mapped.clear();
    initialised.clear();
    history.clear();
    ++started;
    session = std::make_unique<WorkerSession>(config.worker);
    if (auto fault = session->open_device()) return fault;
    if (auto fault = session->load()) return fault;
    device = session->device_description();
  }
  for (std::uint32_t id = 0; id < kArenas; ++id) {
    const Arena* arena = arenas.get(id);
    if (!arena || mapped[id] == arenas.generation(id)) continue;
    if (auto fault = session->map(id, *arena, arenas.read_only(id) ? Access::read_only : Access::read_write,
                                  id == kShelf ? WorkerSession::Use::shelf : WorkerSession::Use::lent))
      return fault;
    mapped[id] = arenas.generation(id);
  }
  if (!initialised[variant]) {
    if (auto fault = session->init(variant)) return fault;
    initialised[variant] = true;
  }
  return std::nullopt;
}

void Bench::State::bury() {
  if (!session) return;
  output = session->output();
  session.reset();
}

// From the slowest pass so far of one call or replay, times those in the program. Large outputs get what a slow kernel
// would need before anything is known.
int Bench::State::deadline_ms(std::int64_t cells) const {
  const double calls = work_steps(*program);
  const double least = shrinking                             ? kLeastShrinkMs
                       : domain.type() == DeviceType::cuda   ? kLeastCudaMs
                                                             : kLeastMs;
  const double factor = shrinking ? kShrinkFactor : kDeadlineFactor;
  const double wanted = calls * std::max(factor * slowest_ms, kMsPerCell * static_cast<double>(cells));
  return static_cast<int>(std::clamp(wanted, least, kMostMs));
}

Binding& Bench::bind(const Case& c, Placement placement, std::uint64_t salt) {
  State& s = *state_;
  Binding& b = s.bindings.emplace_back();
  b.c = c;
  std::vector<std::size_t> order;
  for (const ArgumentSpec& a : slot_->arguments) {
    if (a.kind != 'i' && a.kind != 'o') continue;
    Placed p;
    p.spec = &a;
    p.dtype = slot_->dtype(a, c);
    p.shape = slot_->shape(a, c);
    p.guard = a.kind == 'o' ? Guard::canary : input_guard(p.dtype);
    order.push_back(b.tensors.size());
    b.tensors.push_back(std::move(p));
  }
  b.versions.assign(b.tensors.size(), 0);
  const std::uint64_t key = derive_key(c.seed, "distance", salt);
  if (key & 1) std::reverse(order.begin(), order.end());

  std::vector<LayoutRequest> requests(b.tensors.size());
  std::vector<Box> boxes(b.tensors.size());
  for (std::size_t i = 0; i < b.tensors.size(); ++i) {
    requests[i] = request_of(*slot_, *b.tensors[i].spec, c);
    boxes[i] = lay_out(requests[i]);
  }

  std::uint64_t draw = key;
  for (const std::size_t i : order) {
    Placed& p = b.tensors[i];
    const bool output = p.spec->kind == 'o';
    draw = mix64(draw + 0x9E3779B97F4A7C15ULL);
    const std::uint64_t gap = (draw & 7) * region_alignment;
    if (c.far && p.spec->strided && p.shape.size() == 2 && p.shape[0] > 0 && p.shape[1] > 0) {
      LayoutRequest row = requests[i];
      row.shape = {p.shape[1]};
      row.row_padding = 0;
      row.offset = 0;
      const Box box = lay_out(row);
      const std::uint64_t pitch = s.config.far_pitch_elements * size_of(p.dtype);
      p.arena = s.arenas.take_far(static_cast<std::uint64_t>(p.shape[0]), pitch, box.region_bytes);
      s.arenas.far_is_output(p.arena, output);
      p.strides = {static_cast<std::int64_t>(s.config.far_pitch_elements), 1};
      p.cell0 = box.cell0_bytes;
      for (std::int64_t r = 0; r < p.shape[0]; ++r)
        p.pieces.push_back({static_cast<std::uint64_t>(r) * pitch, box, r * p.shape[1], {}});
      continue;
    }
    Piece piece;
    if (placement == Placement::ordinary) {
      piece.box = boxes[i];
      p.arena = output ? kOutputs : kInputs;
      piece.arena_offset = s.arenas.take(output ? kOutputs : kInputs, piece.box.region_bytes, gap);
    } else {
      const ArenaId id = output ? kFencedOutputs : kFencedInputs;
      const bool at_end = placement == Placement::flush_end;
      piece.box = lay_out_flush(requests[i], at_end ? Flush::end : Flush::start, region_alignment);
      // The widest first: a fenced arena is sized by its first chunk.
      std::uint64_t widest = 0;
      for (const Box& other : boxes) widest = std::max(widest, other.region_bytes);
      const Chunk chunk = s.arenas.take_fenced(id, std::max(widest, piece.box.region_bytes));
      p.arena = id;
      piece.arena_offset = at_end ? chunk.offset + chunk.bytes - piece.box.region_bytes : chunk.offset;
    }
    p.strides = piece.box.strides;
    p.cell0 = piece.arena_offset + piece.box.cell0_bytes;
    p.pieces.push_back(std::move(piece));
  }
  for (std::size_t i = 0; i < b.tensors.size(); ++i)
    if (b.tensors[i].spec->kind == 'i') set_version(b, i, 0);
  return b;
}

void Bench::set_version(Binding& b, std::size_t index, std::uint64_t version) {
  Placed& p = b.tensors[index];
  const ArgumentSpec& a = *p.spec;
  b.versions[index] = version;
  Tensor values(p.shape, p.dtype);
  if (a.index_fill) {
    a.index_fill(b.c, derive_key(b.c.seed, a.name, version), static_cast<std::int32_t*>(values.view().data),
                 values.size());
    p.values = std::move(values);
    return;
  }
  const RecipeSpec* recipe = &slot_->recipes.front();
  if (!a.plain_values)
    for (const RecipeSpec& r : slot_->recipes)
      if (r.name == b.c.recipe) recipe = &r;
  FillPlan plan;
  plan.dtype = p.dtype;
  plan.recipe = recipe->recipe;
  plan.scale = p.dtype == DType::f16 && recipe->scale_f16 != 0.0 ? recipe->scale_f16 : recipe->scale;
  plan.key = derive_key(b.c.seed, a.name, version);
  fill_tensor(values.view(), plan);
  if (version != 0 && a.dynamic && values.size() > 0) {
    // A recipe without freedom (zeros, constants) gives the same bytes again: fall back to base values.
    Tensor base(p.shape, p.dtype);
    plan.key = derive_key(b.c.seed, a.name, 0);
    fill_tensor(base.view(), plan);
    const std::size_t bytes = static_cast<std::size_t>(values.size()) * size_of(p.dtype);
    plan = {};
    plan.dtype = p.dtype;
    // A single cell may meet its base value again: another draw, then.
    for (std::uint64_t draw = 0; draw < 64 && std::memcmp(base.view().data, values.view().data, bytes) == 0; ++draw) {
      plan.key = derive_key(b.c.seed, a.name, version, draw);
      fill_tensor(values.view(), plan);
    }
  }
  p.values = std::move(values);
}

void Bench::set_values(Binding& b, std::size_t index, Tensor values) {
  b.tensors[index].values = std::move(values);
  b.versions[index] = ~0ULL;  // not a version: references of it are not cached
}

void Bench::push_pieces(Binding& b, bool outputs, std::optional<Guard> guard, std::uint32_t stream) {
  State& s = *state_;
  for (Placed& p : b.tensors) {
    if ((p.spec->kind == 'o') != outputs) continue;
    for (std::size_t i = 0; i < p.pieces.size(); ++i) {
      Piece& piece = p.pieces[i];
      piece.image = paint_image(p, piece, guard);
      s.script.copy(stream, region_of(p, i), {kShelf, 0, s.up_bytes, piece.box.region_bytes});
      s.uploads.emplace_back(piece.image, s.up_bytes);
      s.up_bytes += round_up(piece.box.region_bytes, kShelfAlignment);
    }
  }
}

void Bench::push_inputs(Binding& b, std::optional<Guard> guard) {
  push_pieces(b, false, guard, kMainStream);
  state_->push_pending = true;
}

void Bench::push_outputs(Binding& b, Poison poison, std::uint32_t ordinal) {
  for (Placed& p : b.tensors)
    if (p.spec->kind == 'o') p.poison = poison_bits(p.dtype, poison, ordinal);
  push_pieces(b, true, std::nullopt, kMainStream);
  state_->push_pending = true;
}

void Bench::push_inputs_on(Binding& b, std::uint32_t stream) { push_pieces(b, false, std::nullopt, stream); }

void Bench::wait_for_pushes() {
  if (state_->push_pending) state_->script.simple(Op::sync, kMainStream);
  state_->push_pending = false;
}

Script& Bench::script() {
  wait_for_pushes();
  return state_->script;
}

void Bench::label(std::string text) { state_->script.label(std::move(text)); }

// Appends the copies that bring a tensor back; the stream is one that nothing else uses, so a held one does not matter.
std::uint64_t Bench::State::read_back(Deferred& d, Placed& p, bool only_outputs) {
  if (only_outputs && p.spec->kind != 'o') return 0;
  for (std::size_t i = 0; i < p.pieces.size(); ++i) {
    const std::uint64_t bytes = p.pieces[i].box.region_bytes;
    down_steps.push_back(script.copy(kReadStream, {kShelf, 0, down_bytes, bytes}, region_of(p, i)));
    d.reads.push_back({p.pieces[i].image, &p, i, down_bytes});
    down_bytes += round_up(bytes, kShelfAlignment);
  }
  return down_bytes;
}

bool Bench::collect(Binding& b, std::string label, CollectNotes notes) {
  State& s = *state_;
  wait_for_pushes();
  State::Deferred& d = s.deferred.emplace_back();
  for (Placed& p : b.tensors) {
    s.read_back(d, p, false);
    d.poisons.push_back(p.poison);
  }
  d.last_step = s.script.simple(Op::sync, kReadStream);
  d.call = true;
  d.c = b.c;
  d.binding = &b;
  d.label = std::move(label);
  if (notes.reference) d.reference = reference(b, &d.informative);
  d.notes = std::move(notes);
  const bool long_enough = s.script.steps() > static_cast<int>(kMaxSteps / 2) || s.up_bytes + s.down_bytes > kShelfFlush;
  return long_enough ? flush() : true;
}

void Bench::probe(Binding& b, std::function<void(const std::string&)> say) {
  State& s = *state_;
  wait_for_pushes();
  State::Deferred& d = s.deferred.emplace_back();
  for (Placed& p : b.tensors) s.read_back(d, p, true);
  d.last_step = s.script.simple(Op::sync, kReadStream);
  d.say = std::move(say);
}

void Bench::expect(int step, std::function<void(const ProgramResult&)> take) {
  State::Deferred& d = state_->deferred.emplace_back();
  d.last_step = d.result = step;
  d.take = std::move(take);
}

void Bench::State::begin(const SlotSpec& slot, std::uint32_t variant) {
  script.begin(slot, variant);
  push_pending = false;
  up_bytes = down_bytes = 0;
  uploads.clear();
  down_steps.clear();
  deferred.clear();
}

void Bench::State::upload() {
  for (const auto& [image, offset] : uploads) std::memcpy(arenas.at(kShelf, offset), image->data(), image->size());
}

// One run in the worker. False: it ended, and the observation holds the fault.
bool Bench::State::run(int deadline) {
  Program& theirs = session->program();
  const std::uint32_t steps = program->step_count;
  theirs.step_count = steps;
  theirs.tensor_count = program->tensor_count;
  theirs.done = 0;
  std::copy_n(program->tensors, program->tensor_count, theirs.tensors);
  std::copy_n(program->steps, steps, theirs.steps);
  for (std::uint32_t i = 0; i < steps; ++i) theirs.results[i] = ProgramResult{};
  const auto start = Clock::now();
  auto fault = session->run(deadline);
  const double ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  std::copy_n(theirs.results, steps, program->results);
  if (fault) {
    const int at = static_cast<int>(std::min(fault->step, steps - 1));
    seen->failed_label = script.label_of(at);
    seen->fault = std::move(fault);
    return false;
  }
  slowest_ms = std::max(slowest_ms, ms / work_steps(*program));
  return true;
}

void Bench::State::read_call(Deferred& d, const std::vector<std::byte>& shelf) {
  CallSeen call;
  call.label = d.label;
  call.c = d.c;
  call.reference = d.reference;
  call.informative = d.informative;
  call.rows = d.notes.rows;
  call.mutated = d.notes.mutated;
  call.changed_scalar = d.notes.changed_scalar;
  if (d.notes.call >= 0) {
    const ProgramResult& r = program->results[d.notes.call];
    call.code = r.code;
    call.status = r.status;
    call.binding = r.binding;
    call.nanoseconds = r.nanoseconds;
  }
  std::size_t tensor = 0;
  for (std::size_t at = 0; at < d.reads.size(); ++tensor) {
    const Placed& p = *d.reads[at].placed;
    OutputSeen out;
    InputSeen in;
    out.spec = in.spec = p.spec;
    if (p.spec->kind == 'o') {
      out.poison_bits = d.poisons[tensor];
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
      } else if (std::memcmp(bytes.data(), read.image->data(), bytes.size()) != 0) {
        for (std::size_t i = 0; i < bytes.size(); ++i) {
          if (bytes[i] == (*read.image)[i]) continue;
          if (in.changed++ == 0)
            in.text = "byte " + std::to_string(static_cast<std::int64_t>(i) - static_cast<std::int64_t>(piece.box.cell0_bytes)) +
                      " from cell 0 of " + p.spec->name;
        }
      }
    }
    if (p.spec->kind == 'o') call.outputs.push_back(std::move(out));
    else call.inputs.push_back(std::move(in));
  }
  (d.notes.bystander ? seen->bystanders : seen->calls).push_back(std::move(call));
}

// Turns what the program brought back into what was seen, for the steps that were done.
void Bench::State::settle(int steps_done) {
  std::vector<std::byte> shelf(down_bytes);
  std::uint64_t wanted = 0;
  for (const Deferred& d : deferred)
    if (d.last_step < steps_done)
      for (const Read& read : d.reads)
        wanted = std::max(wanted, read.offset + read.placed->pieces[read.piece].box.region_bytes);
  if (wanted) std::memcpy(shelf.data(), arenas.at(kShelf, up_bytes), wanted);  // judged is the judge's own copy
  for (Deferred& d : deferred) {
    if (d.last_step >= steps_done) continue;
    if (d.take) {
      d.take(program->results[d.result]);
    } else if (d.say) {
      std::string text;
      for (const Read& read : d.reads) {
        const std::byte* bytes = shelf.data() + read.offset;
        if (std::memcmp(bytes, read.image->data(), read.image->size()) == 0) continue;
        std::uint64_t changed = 0;
        for (std::size_t i = 0; i < read.image->size(); ++i) changed += bytes[i] != (*read.image)[i];
        text = std::to_string(changed) + " bytes of " + read.placed->spec->name + " changed";
      }
      d.say(text);
    } else {
      read_call(d, shelf);
    }
  }
}

bool Bench::flush() {
  State& s = *state_;
  wait_for_pushes();
  if (s.script.steps() == 0) return !s.seen->fault && !s.seen->failed_op;
  for (const int step : s.down_steps) s.program->steps[step].to.offset += s.up_bytes;
  s.arenas.shelve(s.up_bytes + s.down_bytes);
  bool well = true;
  if (auto fault = s.ready(variant_.index)) {
    s.seen->fault = std::move(fault);
    s.seen->failed_label = "before the first call";
    well = false;
  } else {
    std::int64_t cells = 0;
    for (const Binding& b : s.bindings) cells = std::max(cells, slot_->output_cells(b.c));
    s.upload();
    int done = static_cast<int>(s.program->step_count);
    {
      const DeviceTurn turn(s.config.device_lock);
      well = s.run(s.deadline_ms(cells));
    }
    if (!well) done = 0;  // the worker's end leaves nothing to trust
    for (int i = 0; i < done; ++i) {
      const ProgramResult& r = s.program->results[i];
      if (r.code == StepCode::ok) continue;
      well = false;
      done = i;
      s.seen->failed_op = s.program->steps[i].op;
      s.seen->failed_code = r.code;
      s.seen->failed_text = std::string(r.text, strnlen(r.text, sizeof r.text));
      s.seen->failed_label = s.script.label_of(i);
      break;
    }
    if (done > 0) s.settle(done);
  }
  // A dead worker is buried, and one whose device context is poisoned.
  if (s.seen->fault || (s.seen->failed_op && s.seen->failed_code == StepCode::device_fault)) s.bury();
  s.begin(*slot_, variant_.index);
  return well;
}

std::shared_ptr<const ReferenceResult> Bench::reference(const Binding& b, bool* informative) {
  State& s = *state_;
  bool cacheable = true;
  std::string key;
  for (std::size_t i = 0; i < b.versions.size(); ++i) {
    cacheable = cacheable && b.versions[i] != ~0ULL;
    key += std::to_string(b.versions[i]) + ",";
  }
  if (cacheable) {
    // Layout and schedule do not reach the values.
    Case values = b.c;
    values.layouts.clear();
    values.early = values.far = false;
    values.block_seed = 0;
    key += describe(values);
    if (const auto known = s.cache.find(key); known != s.cache.end()) {
      if (informative) *informative = known->second.informative;
      return known->second.result;
    }
  }
  ReferenceCall call;
  for (const Placed& p : b.tensors)
    if (p.spec->kind == 'i') call.inputs[p.spec->name] = p.values.view();
  call.scalars = b.c.scalars;
  call.dims = b.c.dims;
  auto result = std::make_shared<ReferenceResult>();
  s.references.find(slot_->reference)(call, *result);
  CachedReference entry;
  entry.informative = is_informative(*slot_, b.c.dtype, *result);
  entry.result = std::move(result);
  if (informative) *informative = entry.informative;
  if (cacheable) {
    std::size_t bytes = 0;
    for (const Expected& e : entry.result->outputs) bytes += 16 * static_cast<std::size_t>(e.expected.size());
    if (s.cache_bytes + bytes > kReferenceBytes) {
      s.cache.clear();
      s.cache_bytes = 0;
    }
    s.cache_bytes += bytes;
    s.cache[key] = entry;
  }
  return entry.result;
}

void Bench::set_shrinking(bool on) { state_->shrinking = on; }
void Bench::retire_worker() {
  state_->session.reset();
  state_->history.clear();
}
std::vector<TrialPart>& Bench::history() {
  auto& h = state_->history;
  if (h.size() > kHistoryParts) h.erase(h.begin(), h.begin() + static_cast<std::ptrdiff_t>(h.size() - kHistoryParts));
  return h;
}
std::string Bench::worker_output() const {
  return state_->session ? state_->session->output() : std::string(); }
const std::string& Bench::device_description() const noexcept { return state_->device; }
std::uint64_t Bench::workers_started() const noexcept { return state_->started; }

}  // namespace assay
