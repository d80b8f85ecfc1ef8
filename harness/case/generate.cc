#include "harness/case/generate.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "harness/tensor/philox.hpp"

namespace assay {
namespace {

// A small stream of random words from one key.
class Draw {
 public:
  explicit Draw(std::uint64_t key) : key_(key) {}
  std::uint64_t bits() { return mix64(key_ += 0x9E3779B97F4A7C15ULL); }
  std::int64_t below(std::int64_t n) {
    return n <= 1 ? 0 : static_cast<std::int64_t>(bits() % static_cast<std::uint64_t>(n));
  }
  bool one_in(std::int64_t n) { return below(n) == 0; }
  double unit() { return static_cast<double>(bits() >> 11) * 0x1p-53; }

 private:
  std::uint64_t key_;
};

std::int64_t draw_dim(const DimSpec& dim, int size, Draw& draw) {
  if (draw.one_in(3) && !dim.edges.empty()) {
    // Edges in reach of the size, so that early cases stay small.
    std::vector<std::int64_t> within;
    const double reach = std::exp2(3.0 + 11.0 * size / 100.0);
    for (std::int64_t e : dim.edges)
      if (e >= dim.min && e <= dim.max && static_cast<double>(e) <= reach) within.push_back(e);
    if (!within.empty()) return within[static_cast<std::size_t>(draw.below(static_cast<std::int64_t>(within.size())))];
  }
  const double low = std::log2(static_cast<double>(std::max<std::int64_t>(dim.min, 1)));
  const double high = std::min(std::log2(static_cast<double>(std::max<std::int64_t>(dim.max, 1))),
                               low + 3.0 + 11.0 * size / 100.0);
  const auto value = static_cast<std::int64_t>(std::exp2(low + (high - low) * draw.unit()));
  return std::clamp(value, dim.min, dim.max);
}

constexpr std::int64_t kPaddedBytes = 16;  // of the one padded case that contiguous outputs get (spec/slots.md 2.3)

std::int64_t elements_in(std::int64_t bytes, DType dtype) {
  return std::max<std::int64_t>(1, bytes / static_cast<std::int64_t>(size_of(dtype)));
}

}  // namespace

double work_of(const SlotSpec& slot, const Case& c) {
  return slot.work ? slot.work(c) : static_cast<double>(slot.output_cells(c));
}

TierLimits limits_of(Tier tier) noexcept {
  switch (tier) {
    case Tier::quick: return {1 << 16, 1 << 22, 2 << 20, 96};
    case Tier::full: return {1 << 18, 1 << 25, 8 << 20, 512};
    case Tier::gate: return {1 << 18, 1 << 25, 8 << 20, 512};
  }
  return {};
}

void repair(const SlotSpec& slot, Case& c) {
  c.slot = slot.id;
  c.world = slot.kind == Kind::collective ? std::clamp<std::int64_t>(c.world, 1, kMostRanks) : 1;
  const auto contiguous = [](const ArgumentSpec& a) { return a.kind == 'o' && !a.strided; };
  c.padded = c.padded && std::any_of(slot.arguments.begin(), slot.arguments.end(), contiguous);
  std::map<std::string, std::int64_t> dims;
  for (const DimSpec& d : slot.dims) {
    const auto given = c.dims.find(d.name);
    dims[d.name] = given == c.dims.end() ? d.min : std::clamp(given->second, d.min, d.max);
  }
  c.dims = std::move(dims);
  std::map<std::string, std::string> knobs;
  for (const KnobSpec& k : slot.knobs) {
    const auto given = c.knobs.find(k.name);
    const bool known =
        given != c.knobs.end() && std::find(k.values.begin(), k.values.end(), given->second) != k.values.end();
    knobs[k.name] = known ? given->second : k.values.front();
  }
  c.knobs = std::move(knobs);
  if (std::none_of(slot.recipes.begin(), slot.recipes.end(), [&](const RecipeSpec& r) { return r.name == c.recipe; }))
    c.recipe = slot.recipes.front().name;
  std::map<std::string, double> scalars;
  for (const ArgumentSpec& a : slot.arguments)
    if (a.choices.size() > 1) {
      const auto given = c.scalars.find(a.name);
      scalars[a.name] = given == c.scalars.end() ? a.choices.front() : given->second;
    }
  c.scalars = std::move(scalars);
  slot.legal(c);
  // A rank-1 tensor of the op slots is one row.
  if (const auto lead = c.knobs.find("lead"); lead != c.knobs.end() && lead->second == "1d" && c.dims.count("rows") &&
                                              c.dims["rows"] != 1)
    lead->second = "2d";
  if (c.far && (c.dims.count("rows") == 0 || c.dims["rows"] < 2 || c.dims["rows"] > 8 || slot.output_cells(c) > 4096))
    c.far = false;
  if (c.far)
    if (const auto lead = c.knobs.find("lead"); lead != c.knobs.end()) lead->second = "2d";
  if (c.padded)
    for (const ArgumentSpec& a : slot.arguments)
      if (contiguous(a)) c.layouts[a.name].pad = elements_in(kPaddedBytes, slot.dtype(a, c));
  std::map<std::string, ArgumentLayout> layouts;
  for (const ArgumentSpec& a : slot.arguments) {
    const auto given = c.layouts.find(a.name);
    if (given == c.layouts.end() || (a.kind != 'i' && a.kind != 'o')) continue;
    ArgumentLayout l = given->second;
    const bool forced = c.padded && a.kind == 'o' && !a.strided;
    const bool padded = (a.strided || forced) && slot.shape(a, c).size() >= 2 && !c.far;
    const std::int64_t step = elements_in(forced ? kPaddedBytes : a.stride_bytes, slot.dtype(a, c));
    l.pad = padded ? l.pad / step * step : 0;
    l.offset = l.offset / a.alignment * a.alignment;
    if (a.alignment < 256) l.offset = l.offset / (2 * a.alignment) * (2 * a.alignment);  // keeps the adverse alignment
    if (!(l == ArgumentLayout{})) layouts[a.name] = l;
  }
  c.layouts = std::move(layouts);
}

void fit(const SlotSpec& slot, Case& c, const TierLimits& limits, const Case* least) {
  const auto floor_of = [&](const DimSpec& d) { return least ? std::max(d.min, least->dims.at(d.name)) : d.min; };
  std::set<std::string> stuck;  // dims that the slot's own repair holds up
  for (int round = 0; round < 400; ++round) {
    if (slot.output_cells(c) <= limits.output_cells && work_of(slot, c) <= limits.reference_work &&
        slot.input_bytes(c) <= limits.input_bytes)
      return;
    const DimSpec* widest = nullptr;
    for (const DimSpec& d : slot.dims)
      if (c.dims[d.name] > std::max<std::int64_t>(floor_of(d), 1) && !stuck.count(d.name) &&
          (!widest || c.dims[d.name] > c.dims[widest->name]))
        widest = &d;
    if (!widest) return;
    const std::int64_t before = c.dims[widest->name];
    c.dims[widest->name] = std::max(floor_of(*widest), before / 2);
    repair(slot, c);
    if (c.dims[widest->name] < before)
      stuck.clear();
    else
      stuck.insert(widest->name);
  }
}

Case pinned_case(const SlotSpec& slot, const PinSpec& pin, DType dtype, std::uint64_t seed) {
  Case c;
  c.dtype = dtype;
  c.dims = pin.dims;
  c.knobs = pin.knobs;
  c.recipe = pin.recipe;
  c.scalars = pin.scalars;
  c.far = pin.far;
  Draw draw(derive_key(seed, slot.id, static_cast<std::uint64_t>(dtype), 0x70696e));
  c.seed = draw.bits() >> 16;
  c.early = draw.one_in(2);
  c.block_seed = draw.bits() >> 48;
  for (const ArgumentSpec& a : slot.arguments)
    if (a.strided) c.layouts[a.name].pad = elements_in(a.stride_bytes, slot.dtype(a, c));
  repair(slot, c);
  return c;
}

namespace {

// spec/slots.md 4.2: counts move a little or by a third; features never.
Case jittered(const SlotSpec& slot, Case c, std::uint64_t key) {
  Draw draw(key);
  for (const DimSpec& d : slot.dims) {
    if (!d.count) continue;
    std::int64_t& v = c.dims[d.name];
    const std::int64_t step = draw.below(5) - 1;
    v = std::max<std::int64_t>(1, v + step + v / 3 * draw.below(2));
  }
  repair(slot, c);
  return c;
}

constexpr std::uint64_t kJitters = 2;
constexpr std::int64_t kMostJitteredCells = 1 << 21;  // the huge pins run once, as the catalogue has them

}  // namespace

std::vector<Case> pins_of(const SlotSpec& slot, DType dtype, Tier tier, std::uint64_t seed) {
  std::vector<Case> pins;
  std::uint64_t index = 0;
  for (const PinSpec& pin : slot.pins) {
    ++index;
    if (pin.tier <= tier) pins.push_back(pinned_case(slot, pin, dtype, derive_key(seed, "pin", index)));
  }
  if (tier == Tier::quick) return pins;
  const std::size_t catalogue = pins.size();
  if (!pins.empty()) {
    Case padded = pins.front();
    padded.padded = true;
    repair(slot, padded);
    if (padded.padded) pins.push_back(std::move(padded));
  }
  for (std::size_t i = 0; i < catalogue; ++i)
    for (std::uint64_t jitter = 1; jitter <= kJitters; ++jitter) {
      Case moved = jittered(slot, pins[i], derive_key(seed, "jitter", i, jitter));
      if (slot.output_cells(moved) > kMostJitteredCells) continue;
      if (std::find(pins.begin(), pins.end(), moved) == pins.end()) pins.push_back(std::move(moved));
    }
  return pins;
}

Case drawn_case(const SlotSpec& slot, DType dtype, Tier tier, int size, std::uint64_t key) {
  Draw draw(key);
  Case c;
  c.dtype = dtype;
  for (const DimSpec& d : slot.dims) c.dims[d.name] = draw_dim(d, size, draw);
  for (const KnobSpec& k : slot.knobs)
    c.knobs[k.name] = draw.one_in(4) ? k.values[static_cast<std::size_t>(draw.below(static_cast<std::int64_t>(k.values.size())))]
                                     : k.values.front();
  // Half of the cases hold base values or tags, which are evidence; the rest go round the hard ones.
  const auto recipes = static_cast<std::int64_t>(slot.recipes.size());
  c.recipe = slot.recipes[static_cast<std::size_t>(draw.one_in(2) ? draw.below(std::min<std::int64_t>(2, recipes))
                                                                  : draw.below(recipes))].name;
  for (const ArgumentSpec& a : slot.arguments) {
    if (!a.choices.empty()) {
      const auto n = static_cast<std::int64_t>(a.choices.size());
      c.scalars[a.name] = a.choices[static_cast<std::size_t>(draw.one_in(2) ? 0 : draw.below(n))];
    }
    if (a.strided) {
      const std::int64_t step = elements_in(a.stride_bytes, slot.dtype(a, c));
      const std::int64_t pads[] = {step, step, 0, 3 * step, 16 * step};
      c.layouts[a.name].pad = pads[draw.below(5)];
    }
    if ((a.kind == 'i' || a.kind == 'o') && draw.one_in(4)) c.layouts[a.name].offset = 512 * draw.below(5);
  }
  c.seed = draw.bits() >> 16;
  c.early = draw.one_in(2);
  c.block_seed = draw.one_in(4) ? 0 : draw.bits() >> 48;
  c.far = draw.one_in(24);
  repair(slot, c);
  fit(slot, c, limits_of(tier));
  return c;
}

// One dim at an edge or one over it, where implementations change their ways; the others as they come.
static Case beside_a_switch(const SlotSpec& slot, const Case& c, Draw& draw, Tier tier) {
  Case other = c, least = c;
  other.dims = drawn_case(slot, c.dtype, tier, static_cast<int>(draw.below(101)), draw.bits()).dims;
  for (auto& [name, value] : other.dims) value = std::max<std::int64_t>(value, 1);
  other.seed = draw.bits() >> 16;
  other.far = false;
  std::vector<std::pair<const DimSpec*, std::int64_t>> uppers;
  for (const DimSpec& d : slot.dims) {
    least.dims[d.name] = d.min;
    for (const std::int64_t e : d.edges)
      for (const std::int64_t upper : {e, e + 1})
        if (upper > d.min && upper <= d.max) uppers.emplace_back(&d, upper);
  }
  if (uppers.empty()) return other;
  const auto& [dim, upper] = uppers[static_cast<std::size_t>(draw.below(static_cast<std::int64_t>(uppers.size())))];
  other.dims[dim->name] = least.dims[dim->name] = upper;
  repair(slot, other);
  fit(slot, other, limits_of(tier), &least);
  return other;
}

Case companion(const SlotSpec& slot, const Case& c, Drive drive, Tier tier) {
  Draw draw(derive_key(c.seed, "companion", static_cast<std::uint64_t>(drive)));
  TierLimits limits = limits_of(tier);
  if (drive == Drive::regrow) {
    // The same kind of call with more of everything, so that a workspace must grow.
    Case larger = c;
    larger.seed = draw.bits() >> 16;
    larger.far = false;
    for (const DimSpec& d : slot.dims) larger.dims[d.name] = std::max<std::int64_t>(1, c.dims.at(d.name)) * 2 + draw.below(9);
    repair(slot, larger);
    limits.output_cells = std::max(limits.output_cells, 8 * slot.output_cells(c));
    limits.reference_work = std::max(limits.reference_work, 8 * work_of(slot, c));
    fit(slot, larger, limits, &c);  // never smaller than the first in any dim, whatever the work costs
    return larger;
  }
  if (drive == Drive::burst) return beside_a_switch(slot, c, draw, tier);
  // A few tries for one that launches work; a graph of an empty call would be empty.
  Case other = c;
  for (int i = 0; i < 8; ++i) {
    other = drawn_case(slot, c.dtype, tier, static_cast<int>(draw.below(101)), draw.bits());
    other.world = c.world;
    if (slot.output_cells(other) > 0) break;
  }
  if (drive == Drive::groups) other.world = std::max<std::int64_t>(1, c.world / 2);
  return other;
}

double measure(const SlotSpec& slot, const Case& c) {
  double m = 0;
  for (const DimSpec& d : slot.dims) m += static_cast<double>(c.dims.at(d.name) - d.min);
  m *= 1024.0;
  m += 4096.0 * static_cast<double>(c.world - 1);
  for (const KnobSpec& k : slot.knobs) m += c.knobs.at(k.name) == k.values.front() ? 0 : 16;
  for (std::size_t i = 0; i < slot.recipes.size(); ++i)
    if (slot.recipes[i].name == c.recipe) m += i <= 1 ? static_cast<double>(i) : 8.0;
  for (const auto& [name, l] : c.layouts)
    m += (l.pad ? 2 + std::log2(1.0 + static_cast<double>(l.pad)) : 0) +
         (l.offset ? 2 + std::log2(1.0 + static_cast<double>(l.offset)) : 0);
  for (const ArgumentSpec& a : slot.arguments)
    if (a.choices.size() > 1 && c.scalars.at(a.name) != a.choices.front()) m += 4;
  return m + (c.early ? 1 : 0) + (c.block_seed ? 1 : 0) + (c.far ? 64 : 0) + (c.padded ? 64 : 0);
}

std::vector<Case> moves(const SlotSpec& slot, const Case& c) {
  std::vector<Case> list;
  const double now = measure(slot, c);
  const auto offer = [&](Case smaller) {
    repair(slot, smaller);
    if (measure(slot, smaller) < now && std::find(list.begin(), list.end(), smaller) == list.end())
      list.push_back(std::move(smaller));
  };
  const auto with = [&](auto&& change) {
    Case smaller = c;
    change(smaller);
    offer(std::move(smaller));
  };
  for (std::size_t i = 0; i < std::min<std::size_t>(2, slot.recipes.size()); ++i)
    with([&](Case& s) { s.recipe = slot.recipes[i].name; });
  if (!c.layouts.empty()) with([](Case& s) { s.layouts.clear(); });
  for (const auto& [name, l] : c.layouts) {
    if (l.pad) with([&, n = name](Case& s) { s.layouts[n].pad = 0; });
    if (l.offset) with([&, n = name](Case& s) { s.layouts[n].offset = 0; });
    if (l.pad) with([&, n = name](Case& s) {
        s.layouts[n].pad = elements_in(slot.argument(n).stride_bytes, slot.dtype(slot.argument(n), c));
      });
  }
  for (const KnobSpec& k : slot.knobs)
    if (c.knobs.at(k.name) != k.values.front()) with([&](Case& s) { s.knobs[k.name] = k.values.front(); });
  for (const ArgumentSpec& a : slot.arguments)
    if (a.choices.size() > 1) with([&](Case& s) { s.scalars[a.name] = a.choices.front(); });
  if (c.early) with([](Case& s) { s.early = false; });
  if (c.block_seed) with([](Case& s) { s.block_seed = 0; });
  if (c.far) with([](Case& s) { s.far = false; });
  for (const std::int64_t world : {std::int64_t{2}, c.world / 2, c.world - 1})  // one rank is no collective
    if (world >= 2 && world < c.world) with([&](Case& s) { s.world = world; });
  if (c.padded) with([](Case& s) { s.padded = false; });
  for (const DimSpec& d : slot.dims) {
    const std::int64_t value = c.dims.at(d.name);
    std::set<std::int64_t> tried;
    const auto to = [&](std::int64_t v) {
      if (v >= d.min && v < value && tried.insert(v).second) with([&](Case& s) { s.dims[d.name] = v; });
    };
    to(d.min);
    for (std::int64_t e : d.edges) to(e);
    // From far to near, down to value - 1: halving alone stops at 129 where 65 is the answer.
    for (std::int64_t gap = value - d.min; gap > 0; gap /= 2) to(value - gap);
    to(value - 1);
  }
  return list;
}

}  // namespace assay
