#include "harness/drive/bench.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <deque>
#include <stdexcept>
#include <unordered_map>

#include "harness/compare/comparators.hpp"
#include "harness/drive/arenas.hpp"
#include "harness/tensor/philox.hpp"

namespace assay {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kDeadlineFactor = 10, kShrinkFactor = 4;
constexpr double kLeastMs = 2000, kLeastShrinkMs = 250, kMostMs = 120000;
constexpr double kLeastCudaMs = 6000;  // the driver takes up to 3.5 s to report a trap [m, H200]
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

// Calls and replays of a program: what its time is shared by.
double work_steps(const Program& program) {
  double steps = 0;
  for (std::uint32_t i = 0; i < program.step_count; ++i)
    steps += program.steps[i].op == Op::call || program.steps[i].op == Op::launch;
  return std::max(1.0, steps);
}

std::uint64_t round_up(std::uint64_t n, std::uint64_t step) { return (n + step - 1) / step * step; }

}  // namespace

Placed& Binding::named(std::string_view argument) {
  for (Placed& p : tensors)
    if (p.spec->name == argument) return p;
  throw std::out_of_range("no tensor " + std::string(argument));
}

struct Bench::State {
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
  bool reset_due = true;                           // the next program begins a trial
  double slowest_ms = 0;
  std::uint64_t started = 0;
  std::string device;
  std::unique_ptr<Program> idle_program;           // to build programs on while no worker lives

  State(BenchConfig c, MemoryDomain& d, ReferenceModule& r) : config(std::move(c)), domain(d), references(r), arenas(d) {}

  std::optional<Fault> ready(std::uint32_t variant);
  void bury();  // ends the worker; its program and its output stay readable
  std::string output;
  Program& program();
  int deadline_ms(const Program&, std::int64_t cells) const;
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

void Bench::begin_trial() {
  state_->reset_due = true;
  state_->bindings.clear();
  state_->arenas.begin_trial();
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
    if (auto fault = session->map(id, *arena, arenas.read_only(id) ? Access::read_only : Access::read_write))
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
  if (!idle_program) idle_program = std::make_unique<Program>();
  *idle_program = session->program();
  output = session->output();
  session.reset();
}

Program& Bench::State::program() {
  if (session && session->alive()) return session->program();
  if (!idle_program) idle_program = std::make_unique<Program>();
  return *idle_program;
}

// From the slowest pass so far of one call or replay, times those in the program. Large outputs get what a slow kernel
// would need before anything is known.
int Bench::State::deadline_ms(const Program& program, std::int64_t cells) const {
  const double calls = work_steps(program);
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

  // Lay out first, so that the arenas are large enough before anything holds an offset.
  std::vector<LayoutRequest> requests(b.tensors.size());
  std::vector<Box> boxes(b.tensors.size());
  std::uint64_t need[2] = {0, 0};
  for (std::size_t i = 0; i < b.tensors.size(); ++i) {
    Placed& p = b.tensors[i];
    LayoutRequest& request = requests[i];
    request.dtype = p.dtype;
    request.shape = p.shape;
    request.alignment = static_cast<std::uint64_t>(p.spec->alignment);
    if (const auto l = c.layouts.find(p.spec->name); l != c.layouts.end()) {
      request.row_padding = p.shape.size() >= 2 ? l->second.pad : 0;
      request.offset = l->second.offset / static_cast<std::int64_t>(size_of(p.dtype));
    }
    boxes[i] = lay_out(request);
    need[p.spec->kind == 'o'] += round_up(boxes[i].region_bytes, region_alignment) + 9 * region_alignment;
  }
  if (s.bindings.size() == 1) s.arenas.reserve(4 * need[0] + (1u << 16), 4 * need[1] + (1u << 16));

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
    if (std::memcmp(base.view().data, values.view().data, bytes) == 0) {
      plan = {};
      plan.dtype = p.dtype;
      plan.key = derive_key(b.c.seed, a.name, version);
      fill_tensor(values.view(), plan);
    }
  }
  p.values = std::move(values);
}

void Bench::set_values(Binding& b, std::size_t index, Tensor values) {
  b.tensors[index].values = std::move(values);
  b.versions[index] = ~0ULL;  // not a version: references of it are not cached
}

void Bench::push_inputs(Binding& b, std::optional<Guard> guard) {
  for (Placed& p : b.tensors) {
    if (p.spec->kind != 'i') continue;
    for (Piece& piece : p.pieces) {
      piece.image.resize(piece.box.region_bytes);
      paint(piece.image, piece.box, guard.value_or(p.guard));
      TensorView part = p.values.view();
      part.shape = piece.box.shape;
      part.strides = contiguous_strides(part.shape);
      part.data = static_cast<std::byte*>(part.data) + static_cast<std::size_t>(piece.first_cell) * size_of(p.dtype);
      deposit(piece.image, piece.box, part);
      state_->domain.upload(state_->arenas.at(p.arena, piece.arena_offset), piece.image.data(), piece.image.size());
    }
  }
}

void Bench::push_outputs(Binding& b, Poison poison, std::uint32_t ordinal) {
  for (Placed& p : b.tensors) {
    if (p.spec->kind != 'o') continue;
    p.poison = poison_bits(p.dtype, poison, ordinal);
    for (Piece& piece : p.pieces) {
      piece.image.resize(piece.box.region_bytes);
      paint(piece.image, piece.box, Guard::canary);
      paint_poison(piece.image, piece.box, p.poison);
      state_->domain.upload(state_->arenas.at(p.arena, piece.arena_offset), piece.image.data(), piece.image.size());
    }
  }
}

Bench::Shelf Bench::shelve(const Placed& p) {
  Shelf shelf;
  shelf.arena = kInputs;
  for (const Piece& piece : p.pieces) {
    const std::uint64_t offset = state_->arenas.take(kInputs, piece.box.region_bytes, 0);
    state_->domain.upload(state_->arenas.at(kInputs, offset), piece.image.data(), piece.image.size());
    shelf.offsets.push_back(offset);
  }
  return shelf;
}

Script Bench::script(const Case& schedule) {
  Script script(state_->program(), schedule, *slot_, variant_.index);
  if (state_->reset_due) script.simple(Op::reset, 0);
  state_->reset_due = false;
  return script;
}

bool Bench::run(Observation& seen, std::string_view label, bool tolerate) {
  State& s = *state_;
  // Without a worker the program was built aside; carry it over.
  const bool aside = !(s.session && s.session->alive());
  if (auto fault = s.ready(variant_.index)) {
    seen.fault = std::move(fault);
    seen.failed_label = label;
    s.bury();
    return false;
  }
  Program& program = s.session->program();
  if (aside && s.idle_program) program = *s.idle_program;
  const auto start = Clock::now();
  std::int64_t cells = 0;
  for (const Binding& b : s.bindings) cells = std::max(cells, slot_->output_cells(b.c));
  if (auto fault = s.session->run(s.deadline_ms(program, cells))) {
    seen.fault = std::move(fault);
    seen.failed_label = label;
    s.bury();
    return false;
  }
  const double ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  s.slowest_ms = std::max(s.slowest_ms, ms / work_steps(program));
  for (std::uint32_t i = 0; i < program.step_count; ++i) {
    const ProgramResult& r = program.results[i];
    if (r.code == StepCode::ok) continue;
    if (!seen.failed_op) {
      seen.failed_op = program.steps[i].op;
      seen.failed_code = r.code;
      seen.failed_text = std::string(r.text, strnlen(r.text, sizeof r.text));
      seen.failed_label = label;
    }
    if (r.code == StepCode::device_fault) {
      s.bury();  // its context is poisoned
      return false;
    }
    if (!tolerate) return false;
    break;
  }
  return true;
}

const ProgramResult& Bench::result(int step) const { return state_->program().results[step]; }

CallSeen Bench::collect(Binding& b, std::string label, bool with_reference) {
  State& s = *state_;
  CallSeen seen;
  seen.label = std::move(label);
  seen.c = b.c;
  std::vector<std::byte> copy;
  for (Placed& p : b.tensors) {
    if (p.spec->kind == 'o') {
      OutputSeen out;
      out.spec = p.spec;
      out.poison_bits = p.poison;
      out.actual = Tensor(p.shape, p.dtype);
      for (const Piece& piece : p.pieces) {
        copy.resize(piece.box.region_bytes);
        s.domain.download(copy.data(), s.arenas.at(p.arena, piece.arena_offset), copy.size());
        CanaryReport canary = scan(copy, piece.box, Guard::canary);
        if (!canary.clean() && out.canary.clean()) out.canary = std::move(canary);
        PoisonReport poison = scan_poison(copy, piece.box, p.poison);
        out.poison.count += poison.count;
        for (const std::int64_t cell : poison.cells)
          if (out.poison.cells.size() < 65536) out.poison.cells.push_back(piece.first_cell + cell);
        const Tensor cells = extract(copy, piece.box);
        std::memcpy(static_cast<std::byte*>(out.actual.view().data) +
                        static_cast<std::size_t>(piece.first_cell) * size_of(p.dtype),
                    cells.view().data, static_cast<std::size_t>(cells.size()) * size_of(p.dtype));
      }
      seen.outputs.push_back(std::move(out));
    } else {
      InputSeen in;
      in.spec = p.spec;
      for (const Piece& piece : p.pieces) {
        copy.resize(piece.box.region_bytes);
        s.domain.download(copy.data(), s.arenas.at(p.arena, piece.arena_offset), copy.size());
        if (copy.size() == piece.image.size() && std::memcmp(copy.data(), piece.image.data(), copy.size()) == 0) continue;
        for (std::size_t i = 0; i < copy.size() && i < piece.image.size(); ++i)
          if (copy[i] != piece.image[i]) {
            if (in.changed == 0)
              in.text = "byte " + std::to_string(static_cast<std::int64_t>(i) -
                                                 static_cast<std::int64_t>(piece.box.cell0_bytes)) +
                        " from cell 0 of " + p.spec->name;
            ++in.changed;
          }
      }
      seen.inputs.push_back(std::move(in));
    }
  }
  if (with_reference) seen.reference = reference(b, &seen.informative);
  return seen;
}

std::string Bench::changed_outputs(const Binding& b) {
  State& s = *state_;
  std::vector<std::byte> copy;
  for (const Placed& p : b.tensors) {
    if (p.spec->kind != 'o') continue;
    for (const Piece& piece : p.pieces) {
      copy.resize(piece.box.region_bytes);
      s.domain.download(copy.data(), s.arenas.at(p.arena, piece.arena_offset), copy.size());
      if (std::memcmp(copy.data(), piece.image.data(), copy.size()) == 0) continue;
      std::uint64_t changed = 0;
      for (std::size_t i = 0; i < copy.size(); ++i) changed += copy[i] != piece.image[i];
      return std::to_string(changed) + " bytes of " + p.spec->name + " changed";
    }
  }
  return {};
}

std::vector<Tensor> Bench::read_outputs(const Binding& b) {
  State& s = *state_;
  std::vector<Tensor> outputs;
  std::vector<std::byte> copy;
  for (const Placed& p : b.tensors) {
    if (p.spec->kind != 'o') continue;
    Tensor whole(p.shape, p.dtype);
    for (const Piece& piece : p.pieces) {
      copy.resize(piece.box.region_bytes);
      s.domain.download(copy.data(), s.arenas.at(p.arena, piece.arena_offset), copy.size());
      const Tensor cells = extract(copy, piece.box);
      std::memcpy(static_cast<std::byte*>(whole.view().data) +
                      static_cast<std::size_t>(piece.first_cell) * size_of(p.dtype),
                  cells.view().data, static_cast<std::size_t>(cells.size()) * size_of(p.dtype));
    }
    outputs.push_back(std::move(whole));
  }
  return outputs;
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
