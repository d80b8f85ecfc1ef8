#include "harness/drive/bench.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "harness/drive/bench_state.hpp"
#include "harness/drive/drives.hpp"
#include "harness/tensor/philox.hpp"

namespace assay {
namespace {

constexpr std::int64_t kMayRepeatCells = 4096;  // above, draws that depend on their key do not repeat
constexpr std::size_t kHistoryParts = 512;
constexpr double kSpoiled = 3e4;                // finite in every float dtype, far over any value of a recipe
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

Bench::Bench(BenchConfig config, MemoryDomain& domain, ReferenceModule& references)
    : state_(std::make_unique<State>(std::move(config), domain, references)) {}
Bench::~Bench() = default;

DeviceType Bench::device() const noexcept { return state_->domain.type(); }

void Bench::use(const SlotSpec& slot, const VariantInfo& variant) {
  if (slot_ != &slot || variant_.id != variant.id) {
    state_->references.clear();
    state_->slowest_ms = 0;
  }
  slot_ = &slot;
  variant_ = variant;
}

void Bench::begin_trial(Observation& seen) {
  State& s = *state_;
  s.bindings.clear();
  s.next_token = 0;
  s.arenas.begin_trial();
  s.seen = &seen;
  // Room for every set of buffers that a drive makes of its cases, before anything holds an offset.
  std::uint64_t need[2] = {1u << 16, 1u << 16}, most = kMostBindings;
  if (seen.trial.part.drive == Drive::variation) {
    most += slot_->relations.size();
    for (const ArgumentSpec& a : slot_->arguments) most += a.choices.size() > 1 ? 2 : 0;
  }
  for (const Case& c : seen.trial.part.cases)
    for (const ArgumentSpec* a : slot_->tensors(c)) {
      const Box box = lay_out(request_of(*slot_, *a, c));
      const std::uint64_t bindings = is_huge(*slot_, c) ? kMostHugeBindings : most;
      need[a->kind == 'o'] += bindings * (round_up(box.region_bytes, region_alignment) + 9 * region_alignment);
    }
  s.arenas.reserve(need[0], need[1]);
  s.begin(*slot_, variant_.index);
  s.script.label("start of the trial");
  s.script.simple(Op::reset, 0);
  s.script.schedule(schedule_of(seen.trial.part.cases.front()));
}

Binding& Bench::bind(const Case& c, Placement placement, std::uint64_t salt) {
  State& s = *state_;
  Binding& b = s.bindings.emplace_back();
  b.c = c;
  std::vector<std::size_t> order;
  b.token = s.next_token++;
  const ArgumentSpec* first_weight = slot_->weights.data();
  for (const ArgumentSpec* a : slot_->tensors(c)) {
    Placed p;
    p.spec = a;
    p.dtype = slot_->dtype(*a, c);
    p.shape = slot_->shape(*a, c);
    p.guard = a->kind == 'o' ? Guard::canary : input_guard(p.dtype);
    p.weight = a >= first_weight && a < first_weight + slot_->weights.size();
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
  if (a.fill && a.fill(b.c, derive_key(b.c.seed, a.name, version), values.view())) {
    // Few cells may meet their base values again: another draw, then.
    if (version != 0 && a.dynamic && values.size() > 0 && values.size() <= kMayRepeatCells) {
      Tensor base(p.shape, p.dtype);
      a.fill(b.c, base_key(b.c, a.name), base.view());
      const std::size_t bytes = static_cast<std::size_t>(values.size()) * size_of(p.dtype);
      for (std::uint64_t draw = 1; draw < 16 && std::memcmp(base.view().data, values.view().data, bytes) == 0; ++draw)
        a.fill(b.c, derive_key(b.c.seed, a.name, version, draw), values.view());
    }
    p.values = std::move(values);
    return;
  }
  if (!is_float(p.dtype)) throw std::logic_error("the integers of " + a.name + " were not filled");
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
  const bool may_repeat = values.size() <= kMayRepeatCells || plan.recipe == Recipe::zeros ||
                          plan.recipe == Recipe::constant || plan.recipe == Recipe::sorted || plan.recipe == Recipe::tag;
  if (version != 0 && a.dynamic && values.size() > 0 && may_repeat) {
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
  b.versions[index] = kValuesByHand;
}

bool Bench::spoil_excluded(Binding& b, bool nan) {
  const ReferenceCall call = reference_call(b);
  bool any = false;
  for (Placed& p : b.tensors) {
    if (!p.spec->excluded) continue;
    const auto ranges = p.spec->excluded(b.c, call);
    if (ranges.empty()) continue;
    any = true;
    Tensor values(p.shape, p.dtype);
    auto* cells = static_cast<std::byte*>(values.view().data);
    const std::size_t size = size_of(p.dtype);
    std::memcpy(cells, p.values.view().data, static_cast<std::size_t>(values.size()) * size);
    for (const auto& [from, to] : ranges)
      for (std::int64_t i = from; i < to; ++i) {
        if (!is_float(p.dtype))
          std::memset(cells + static_cast<std::size_t>(i) * size, nan ? 0xFF : 0x7E, size);
        else
          store_value(cells, p.dtype, i, nan ? std::nan("") : (i % 3 == 0 ? -kSpoiled : kSpoiled));
      }
    p.values = std::move(values);
    for (Piece& piece : p.pieces) piece.image = nullptr;  // the version is the same, the bytes are not
  }
  return any;
}

// Weights are pushed and prepared once, before anything else of their binding.
void Bench::prepare(Binding& b) {
  State& s = *state_;
  if (b.prepared || slot_->weights.empty()) return;
  b.prepared = true;
  s.script.label("prepare");
  for (Placed& p : b.tensors)
    if (p.weight)
      for (std::size_t i = 0; i < p.pieces.size(); ++i) s.push_piece(b, p, i, std::nullopt, kMainStream);
  s.script.simple(Op::sync, kMainStream);
  PrepareSeen seen;
  for (const Placed& p : b.tensors)
    if (p.weight) seen.raw_bytes += p.values.size() * static_cast<std::int64_t>(size_of(p.dtype));
  expect(s.script.prepare(b, kMainStream), [to = s.seen, seen](const ProgramResult& r) mutable {
    seen.surroundings = r.surroundings;
    seen.device_bytes = r.device_bytes;
    seen.host_bytes = r.host_bytes;
    to->prepares.push_back(seen);
  });
  s.script.simple(Op::sync_device, kMainStream);
}

void Bench::release(Binding& b) {
  State& s = *state_;
  if (!b.prepared || b.released) return;
  b.released = true;
  wait_for_pushes();
  s.script.label("release");
  s.script.release(b, kMainStream);
}

bool Bench::finish() {
  State& s = *state_;
  if (s.seen->fault || s.seen->failed_op) return false;
  for (Binding& b : s.bindings) {
    if (!b.prepared) continue;
    wait_for_pushes();
    State::Deferred& d = s.deferred.emplace_back();
    for (Placed& p : b.tensors)
      if (p.weight) s.read_back(d, p);
    d.last_step = s.script.simple(Op::sync, kReadStream);
    d.weights = true;
    release(b);
    if (s.script.steps() > static_cast<int>(kMaxSteps / 2) || s.up_bytes + s.down_bytes > kShelfFlush)
      if (!flush()) return false;
  }
  return flush();
}

void Bench::State::push_piece(Binding& b, Placed& p, std::size_t i, std::optional<Guard> guard, std::uint32_t stream) {
  Piece& piece = p.pieces[i];
  // Outputs are poisoned alike before most calls, and inputs pushed again unchanged: painted once.
  const std::uint64_t from = p.spec->kind == 'o' ? p.poison : b.versions[static_cast<std::size_t>(&p - b.tensors.data())];
  const std::uint64_t key = derive_key(from, "image", static_cast<std::uint64_t>(guard.value_or(p.guard)));
  if (!piece.image || piece.image_key != key || from == kValuesByHand) piece.image = paint_image(p, piece, guard);
  piece.image_key = key;
  const auto [place, fresh] = shelved.try_emplace(piece.image.get(), up_bytes);
  script.copy(stream, region_of(p, i), {kShelf, 0, place->second, piece.box.region_bytes});
  if (!fresh) return;
  uploads.emplace_back(piece.image, up_bytes);
  up_bytes += round_up(piece.box.region_bytes, kShelfAlignment);
}

void Bench::push_pieces(Binding& b, bool outputs, std::optional<Guard> guard, std::uint32_t stream) {
  prepare(b);
  for (Placed& p : b.tensors) {
    if (p.weight || (p.spec->kind == 'o') != outputs) continue;
    for (std::size_t i = 0; i < p.pieces.size(); ++i) state_->push_piece(b, p, i, guard, stream);
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
void Bench::State::read_back(Deferred& d, Placed& p) {
  for (std::size_t i = 0; i < p.pieces.size(); ++i) {
    const std::uint64_t bytes = p.pieces[i].box.region_bytes;
    down_steps.push_back(script.copy(kReadStream, {kShelf, 0, down_bytes, bytes}, region_of(p, i)));
    d.reads.push_back({p.pieces[i].image, &p, i, down_bytes});
    down_bytes += round_up(bytes, kShelfAlignment);
  }
}

bool Bench::collect(Binding& b, std::string label, CollectNotes notes) {
  State& s = *state_;
  wait_for_pushes();
  State::Deferred& d = s.deferred.emplace_back();
  for (Placed& p : b.tensors) {
    if (p.weight) continue;
    s.read_back(d, p);
    d.poisons.push_back(p.poison);
  }
  d.last_step = s.script.simple(Op::sync, kReadStream);
  d.call = true;
  d.c = b.c;
  d.binding = &b;
  d.label = std::move(label);
  if (notes.reference) d.reference = reference(b, &d.informative);
  d.notes = std::move(notes);
  const bool long_enough = s.script.steps() > static_cast<int>(kMaxSteps / 2) ||
                           s.script.tensors() > kMaxTensors / 2 || s.up_bytes + s.down_bytes > kShelfFlush;
  return long_enough ? flush() : true;
}

void Bench::probe(Binding& b, std::function<void(const std::string&)> say) {
  State& s = *state_;
  wait_for_pushes();
  State::Deferred& d = s.deferred.emplace_back();
  for (Placed& p : b.tensors)
    if (p.spec->kind == 'o') s.read_back(d, p);
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
  shelved.clear();
  down_steps.clear();
  deferred.clear();
}

ReferenceCall Bench::reference_call(const Binding& b) const { return call_of(*slot_, b); }

std::shared_ptr<const ReferenceResult> Bench::reference(const Binding& b, bool* informative) {
  return state_->references.of(*slot_, b, informative);
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
std::string Bench::worker_output() const { return state_->session ? state_->session->output() : std::string(); }
const std::string& Bench::device_description() const noexcept { return state_->device; }
std::uint64_t Bench::workers_started() const noexcept { return state_->started; }

}  // namespace assay
