#include "harness/drive/bench.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "harness/device/cuda/cuda_device.hpp"
#include "harness/drive/bench_state.hpp"
#include "harness/drive/drives.hpp"
#include "harness/drive/requested_layout.hpp"
#include "harness/tensor/philox.hpp"

namespace assay {
namespace {

constexpr std::int64_t kMayRepeatCells = 4096;  // above, draws that depend on their key do not repeat
constexpr std::size_t kHistoryParts = 512;
constexpr std::size_t kDrawnBytes = 64u << 20, kMostDrawnBytes = 1280u << 20;
constexpr double kSpoiled = 3e4;                // finite in every float dtype, far over any value of a recipe
std::uint64_t round_up(std::uint64_t n, std::uint64_t step) { return (n + step - 1) / step * step; }

std::size_t bytes_of(const Tensor& t) { return static_cast<std::size_t>(t.size()) * size_of(t.view().dtype); }
bool same_bytes(const Tensor& a, const Tensor& b) {
  return std::memcmp(a.view().data, b.view().data, bytes_of(a)) == 0;
}

// An input's values on one rank. Version 0 is the base; where the argument is dynamic and has a cell, others differ.
Tensor drawn_values(const SlotSpec& slot, const Case& c, const Placed& p, std::uint64_t version, int rank) {
  const ArgumentSpec& a = *p.spec;
  Tensor values(p.shape, p.dtype);
  const bool must_differ = version != 0 && a.dynamic && values.size() > 0;
  const auto key = [&](std::uint64_t v, std::uint64_t draw = 0) { return derive_key(c.seed, a.name, v, draw); };
  const auto fill = [&](std::uint64_t with, const Tensor& to) {
    if (a.rank_fill) return a.rank_fill(c, rank, with, to.view());
    return a.fill && a.fill(c, rank_key(with, rank), to.view());
  };
  if (fill(key(version), values)) {
    // Few cells may meet their base values again: another draw, then.
    if (must_differ && values.size() <= kMayRepeatCells) {
      Tensor base(p.shape, p.dtype);
      fill(key(0), base);
      for (std::uint64_t draw = 1; draw < 16 && same_bytes(base, values); ++draw) fill(key(version, draw), values);
    }
    return values;
  }
  if (!is_float(p.dtype)) throw std::logic_error("the integers of " + a.name + " were not filled");
  const RecipeSpec* recipe = &slot.recipes.front();
  if (!a.plain_values)
    for (const RecipeSpec& r : slot.recipes)
      if (r.name == c.recipe) recipe = &r;
  FillPlan plan;
  plan.dtype = p.dtype;
  plan.recipe = recipe->recipe;
  plan.scale = p.dtype == DType::f16 && recipe->scale_f16 != 0.0 ? recipe->scale_f16 : recipe->scale;
  plan.key = rank_key(key(version), rank);
  if (plan.recipe == Recipe::tag) plan.parameter = rank;
  fill_tensor(values.view(), plan);
  const bool may_repeat = values.size() <= kMayRepeatCells || plan.recipe == Recipe::zeros ||
                          plan.recipe == Recipe::constant || plan.recipe == Recipe::sorted || plan.recipe == Recipe::tag;
  if (must_differ && may_repeat) {
    // A recipe without freedom (zeros, constants) gives the same bytes again: fall back to base values.
    Tensor base(p.shape, p.dtype);
    plan.key = rank_key(key(0), rank);
    fill_tensor(base.view(), plan);
    plan = {};
    plan.dtype = p.dtype;
    // A single cell may meet its base value again: another draw, then.
    for (std::uint64_t draw = 0; draw < 64 && same_bytes(base, values); ++draw) {
      plan.key = rank_key(key(version, draw), rank);
      fill_tensor(values.view(), plan);
    }
  }
  return values;
}

}  // namespace

Bench::Bench(BenchConfig config, MemoryDomain& domain, ReferenceModule& references)
    : state_(std::make_unique<State>(std::move(config), domain, references)) {}
Bench::~Bench() = default;

DeviceType Bench::device() const noexcept { return state_->domain.type(); }
DeviceTurns::Hold Bench::alone() { return state_->turns.alone(); }
std::string Bench::architecture() const { return state_->domain.architecture(); }

Tensor in_dtype(const Tensor& f64, DType dtype) {
  Tensor rounded(f64.view().shape, dtype);
  for (std::int64_t i = 0; i < f64.size(); ++i)
    store_value(rounded.view().data, dtype, i, f64.values<double>()[static_cast<std::size_t>(i)]);
  return rounded;
}

void Bench::use(const SlotSpec& slot, const VariantInfo& variant) {
  if (slot_ != &slot || variant_.id != variant.id) {
    state_->references.clear();
    state_->values.clear();
    state_->values_bytes = 0;
    state_->slowest_ms = 0;
  }
  slot_ = &slot;
  variant_ = variant;
}

void Bench::begin_trial(Observation& seen) {
  State& s = *state_;
  s.bindings.clear();
  s.also_ready.clear();
  s.next_token = 0;
  s.world = static_cast<int>(seen.trial.part.cases.front().world);
  s.grouped = slot_->kind == Kind::collective;
  s.arenas.begin_trial(s.world, s.config.hosted || (s.grouped && s.domain.type() == DeviceType::cuda));
  s.seen = &seen;
  while (static_cast<int>(seen.others.size()) + 1 < s.world) {
    Observation other;
    other.slot = seen.slot;
    other.variant = seen.variant;
    other.tier = seen.tier;
    other.device = seen.device;
    other.trial = seen.trial;
    other.rank = static_cast<int>(seen.others.size()) + 1;
    seen.others.push_back(std::move(other));
  }
  // Room for every set of buffers that a drive makes of its cases, before anything holds an offset.
  std::uint64_t need[2] = {1u << 16, 1u << 16}, most = kMostBindings;
  if (seen.trial.part.drive == Drive::variation) {
    most += slot_->relations.size() + (slot_->kind == Kind::collective ? 1 : 0);
    for (const ArgumentSpec& a : slot_->arguments) most += a.choices.size() > 1 ? 2 : 0;
  }
  for (const Case& c : seen.trial.part.cases) {
    const std::uint64_t bindings = is_huge(*slot_, c) ? kMostHugeBindings : most;
    for (const ArgumentSpec* a : slot_->tensors(c)) {
      const Box box = lay_out(request_of(*slot_, *a, c));
      need[a->kind == 'o'] += bindings * (round_up(box.region_bytes, region_alignment) + 9 * region_alignment);
    }
  }
  {
    const DeviceTurns::Hold allocating = s.turns.allocating();
    s.arenas.reserve(need[0], need[1]);
  }
  s.begin(*slot_, variant_.index);
  s.script.label("start of the trial");
  s.script.simple(Op::reset, 0);
  s.script.schedule(schedule_of(seen.trial.part.cases.front()));
  if (s.grouped) s.script.simple(Op::meet, 0, kWorldGroup);
}

Binding& Bench::bind(const Case& c, Placement placement, std::uint64_t salt) {
  Binding& b = state_->bindings.emplace_back();
  b.group = slot_->kind == Kind::collective ? kWorldGroup : 0;
  place(b, c, placement, salt);
  return b;
}

Binding& Bench::bind_in(const std::vector<int>& members, const Case& c, std::uint64_t salt) {
  State& s = *state_;
  Binding& b = s.bindings.emplace_back();
  const auto fresh = static_cast<std::uint32_t>(kWorldGroup + 1 + s.groups.size());
  b.group = s.groups.try_emplace(members, fresh).first->second;
  b.members = members;
  place(b, c, Placement::ordinary, salt);
  return b;
}

void Bench::place(Binding& b, const Case& c, Placement placement, std::uint64_t salt) {
  State& s = *state_;
  b.c = c;
  std::vector<std::size_t> order;
  b.token = s.next_token++;
  Case values = c;
  values.layouts.clear();
  values.early = values.far = values.padded = false;
  values.block_seed = 0;
  b.values_key = describe(values);
  const ArgumentSpec* first_weight = slot_->weights.data();
  for (const ArgumentSpec* a : slot_->tensors(c)) {
    Placed p;
    p.spec = a;
    const LayoutRequest request = request_of(*slot_, *a, c);
    p.dtype = request.dtype;
    p.shape = request.shape;
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
}

void Bench::set_version(Binding& b, std::size_t index, std::uint64_t version) {
  Placed& p = b.tensors[index];
  b.versions[index] = version;
  p.values = state_->drawn(*slot_, b, p, version, 0);
  p.others.clear();
  for (int rank = 1; p.spec->per_rank && rank < b.world(); ++rank)
    p.others.push_back(state_->drawn(*slot_, b, p, version, rank));
}

// The drives of a case ask for the same values one after the other. Nobody writes to what is drawn.
Tensor Bench::State::drawn(const SlotSpec& slot, const Binding& b, const Placed& p, std::uint64_t version, int rank) {
  const std::string key =
      b.values_key + "/" + p.spec->name + "/" + std::to_string(version) + "/" + std::to_string(rank);
  if (const auto known = values.find(key); known != values.end()) return known->second;
  Tensor fresh = drawn_values(slot, b.c, p, version, rank);
  const std::size_t bytes = bytes_of(fresh);
  // Weights of an expert layer are over it alone, and dearest to draw: the latest stay.
  if (values_bytes + bytes > kDrawnBytes) {
    std::erase_if(values, [&](const auto& entry) { return entry.first.rfind(b.values_key + "/", 0) != 0; });
    values_bytes = 0;
    for (const auto& [name, kept] : values) values_bytes += bytes_of(kept);
    if (values_bytes + bytes > kMostDrawnBytes) {
      values.clear();
      values_bytes = 0;
    }
    if (bytes > kMostDrawnBytes) return fresh;
  }
  values_bytes += bytes;
  return values[key] = std::move(fresh);
}

void Bench::set_values(Binding& b, std::size_t index, Tensor values, std::vector<Tensor> others) {
  b.tensors[index].values = std::move(values);
  b.tensors[index].others = std::move(others);
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
    const auto spoiled = [&](const Tensor& right) {
      Tensor values(p.shape, p.dtype);
      auto* cells = static_cast<std::byte*>(values.view().data);
      const std::size_t size = size_of(p.dtype);
      std::memcpy(cells, right.view().data, bytes_of(right));
      for (const auto& [from, to] : ranges)
        for (std::int64_t i = from; i < to; ++i) {
          if (!is_float(p.dtype))
            std::memset(cells + static_cast<std::size_t>(i) * size, nan ? 0xFF : 0x7E, size);
          else
            store_value(cells, p.dtype, i, nan ? std::nan("") : (i % 3 == 0 ? -kSpoiled : kSpoiled));
        }
      return values;
    };
    p.values = spoiled(p.values);
    for (Tensor& other : p.others) other = spoiled(other);
    for (Piece& piece : p.pieces) piece.image = {};  // the version is the same, the bytes are not
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
  const bool measured = s.seen->trial.part.drive == Drive::prepared;
  expect(s.script.prepare(b, kMainStream, measured), [seen](Observation& to, const ProgramResult& r) mutable {
    seen.surroundings = r.surroundings;
    seen.device_bytes = r.device_bytes;
    seen.host_bytes = r.host_bytes;
    to.prepares.push_back(seen);
  });
  s.script.simple(Op::sync_device, kMainStream);
}

void Bench::share_weights(Binding& to, Binding& from) {
  if (slot_->weights.empty()) return;
  prepare(from);
  for (std::size_t i = 0; i < to.tensors.size(); ++i)
    if (to.tensors[i].weight) set_values(to, i, from.tensors[i].values);
  to.token = from.token;
  to.prepared = to.borrowed = true;
}

void Bench::blank_inputs(Binding& b, std::uint32_t stream, std::uint32_t byte) {
  for (Placed& p : b.tensors)
    for (std::size_t i = 0; p.spec->kind == 'i' && !p.weight && i < p.pieces.size(); ++i) {
      script().blank(stream, p, i, byte);
      p.pieces[i].there = {};
    }
}

void Bench::release(Binding& b) {
  State& s = *state_;
  if (!b.prepared || b.released || b.borrowed) return;
  b.released = true;
  wait_for_pushes();
  s.script.label("release");
  s.script.release(b, kMainStream);
}

bool Bench::finish() {
  State& s = *state_;
  if (s.seen->fault || s.seen->failed_op) return false;
  for (Binding& b : s.bindings) {
    wait_for_pushes();
    s.read_last(b);
    release(b);
    if (s.script.steps() > static_cast<int>(kMaxSteps / 2) || s.up_bytes + s.down_bytes > kShelfFlush)
      if (!flush()) return false;
  }
  return flush();
}

void Bench::push_pieces(Binding& b, bool outputs, std::optional<Guard> guard, std::uint32_t stream) {
  prepare(b);
  state_->push(b, outputs, guard, stream);
}

void Bench::push_inputs(Binding& b, std::optional<Guard> guard) {
  push_pieces(b, false, guard, kMainStream);
  state_->push_pending = true;
}

void Bench::push_outputs(Binding& b, Poison poison, std::uint32_t ordinal) {
  for (Placed& p : b.tensors)
    if (p.spec->kind == 'o') {
      p.poison = poison_bits(p.dtype, poison, ordinal);
      p.by_stock = false;
    }
  push_pieces(b, true, std::nullopt, kMainStream);
  state_->push_pending = true;
}

void Bench::serve_by_stock(Binding& b) {
  const auto expected = reference(b, nullptr);
  std::size_t output = 0;
  for (Placed& p : b.tensors)
    if (p.spec->kind == 'o') {
      p.values = in_dtype(expected->outputs[output++].expected, p.dtype);
      p.by_stock = true;
    }
  push_pieces(b, true, std::nullopt, kMainStream);
  state_->push_pending = true;
}

void Bench::also_ready(std::uint32_t variant) { state_->also_ready.insert(variant); }

void Bench::push_inputs_on(Binding& b, std::uint32_t stream) { push_pieces(b, false, std::nullopt, stream); }

void Bench::push_outputs_on(Binding& b, std::uint32_t stream, std::uint32_t ordinal) {
  for (Placed& p : b.tensors)
    if (p.spec->kind == 'o') p.poison = poison_bits(p.dtype, Poison::first, ordinal);
  push_pieces(b, true, std::nullopt, stream);
}

void Bench::wait_for_pushes() {
  if (state_->push_pending) state_->script.simple(Op::sync, kMainStream);
  state_->push_pending = false;
}

Script& Bench::script() {
  wait_for_pushes();
  return state_->script;
}

void Bench::label(std::string text) { state_->script.label(std::move(text)); }

bool Bench::collect(Binding& b, std::string label, CollectNotes notes) {
  State& s = *state_;
  wait_for_pushes();
  State::Deferred& d = s.deferred.emplace_back();
  s.read_back(d, b, !notes.on_stream, notes.on_stream.value_or(kReadStream));
  for (const Placed& p : b.tensors)
    if (p.spec->kind == 'o') d.poisons[&p] = p.poison;
  d.last_step = notes.on_stream ? s.script.steps() - 1 : s.script.simple(Op::sync, kReadStream);
  d.ranks = b.ranks();
  const bool waited_for = !notes.on_stream;
  d.call = true;
  d.c = b.c;
  d.binding = &b;
  d.label = std::move(label);
  if (notes.reference) d.reference = reference(b, &d.informative);
  d.notes = std::move(notes);
  const bool long_enough = s.script.steps() > static_cast<int>(kMaxSteps / 2) ||
                           s.script.tensors() > kMaxTensors / 2 || s.up_bytes + s.down_bytes > kShelfFlush;
  return long_enough && waited_for ? flush() : true;
}

void Bench::probe(Binding& b, Say say) {
  State& s = *state_;
  wait_for_pushes();
  State::Deferred& d = s.deferred.emplace_back();
  s.read_back(d, b, false, kReadStream);
  d.ranks = b.ranks();
  d.last_step = s.script.simple(Op::sync, kReadStream);
  d.say = std::move(say);
}

void Bench::expect(int step, Take take) {
  State::Deferred& d = state_->deferred.emplace_back();
  d.last_step = d.result = step;
  d.ranks = state_->script.ranks_of(step);
  d.take = std::move(take);
}

void Bench::State::begin(const SlotSpec& slot, std::uint32_t variant) {
  script.begin(slot, variant);
  push_pending = false;
  up_bytes = down_bytes = 0;
  uploads.clear();
  shelved.clear();
  shelved_together.clear();
  blanks.clear();
  down_steps.clear();
  deferred.clear();
}

ReferenceCall Bench::reference_call(const Binding& b) const { return call_of(*slot_, b); }

std::shared_ptr<const ReferenceResult> Bench::reference(const Binding& b, bool* informative) {
  const DeviceTurns::Hold allocating = state_->turns.allocating();  // where it is computed on the GPU
  return state_->references.of(*slot_, b, informative);
}

void Bench::set_shrinking(bool on) { state_->shrinking = on; }
bool Bench::shrinking() const noexcept { return state_->shrinking; }
double Bench::ran_seconds() const noexcept { return state_->ran_ms / 1e3; }
Sharing Bench::placed(int ranks) const {
  return device() == DeviceType::cuda ? sharing_of(ranks, count_cuda_devices(), state_->config.worker.ordinal) : Sharing::none;
}
Sharing Bench::sharing(int ranks) const { return state_->config.sharing ? state_->config.sharing(ranks) : placed(ranks); }
Sharing Bench::sharing() const { return sharing(state_->world); }
Sharing Bench::placed() const { return placed(state_->world); }
void Bench::retire_worker() {
  state_->workers.reset();
  state_->history.clear();
}
std::vector<TrialPart>& Bench::history() {
  auto& h = state_->history;
  if (h.size() > kHistoryParts) h.erase(h.begin(), h.begin() + static_cast<std::ptrdiff_t>(h.size() - kHistoryParts));
  return h;
}
std::string Bench::worker_output() const {
  return state_->output + (state_->workers ? state_->workers->output() : std::string());
}
const std::string& Bench::device_description() const noexcept { return state_->device; }
std::uint64_t Bench::workers_started() const noexcept { return state_->started; }

}  // namespace assay
