// signature.cc: contract.signature.
#include <algorithm>
#include <exception>

#include "conformance/targets/contract_rules.hpp"
#include "harness/case/generate.hpp"
#include "harness/tensor/guard.hpp"
#include "harness/tensor/layout.hpp"
#include "harness/tensor/philox.hpp"

namespace assay {
namespace {

constexpr int kCalls = 64;

std::uint64_t end_of(const HandedTensor& t) {
  return t.cell0_bytes + static_cast<std::uint64_t>(span_of(t.shape, t.strides)) * size_of(t.dtype);
}

bool overlap(const HandedTensor& a, const HandedTensor& b) {
  return a.arena == b.arena && end_of(a) > a.cell0_bytes && end_of(b) > b.cell0_bytes && a.cell0_bytes < end_of(b) &&
         b.cell0_bytes < end_of(a);
}

std::string text(const Extents& e) {
  std::string out = "(";
  for (const std::int64_t n : e) out += (out.size() > 1 ? ", " : "") + std::to_string(n);
  return out + ")";
}

// What the words of the contract lack before any call is drawn.
void stated(const SlotSpec& slot, const ArgumentSpec& a, Findings& wrong) {
  const std::string who = slot.id + "." + a.name;
  const DType widest = a.dtype.value_or(DType::f32);
  if (a.extents.empty()) wrong.push_back(who + " states no shape");
  if (a.alignment < static_cast<std::int64_t>(size_of(widest)) || (a.alignment & (a.alignment - 1)) != 0)
    wrong.push_back(who + " states an alignment that its own cells do not have");
  if (a.strided && (a.stride_bytes <= 0 || a.stride_bytes % static_cast<std::int64_t>(size_of(widest)) != 0))
    wrong.push_back(who + " may have strided rows, and no pitch is stated");
}

// Poison and canaries lie in an allocation of this form and are found there again.
bool poisons(const HandedTensor& t, std::int64_t alignment) {
  Box box = lay_out({t.dtype, t.shape, 0, 0, static_cast<std::uint64_t>(alignment)});
  if (!(t.strides == box.strides)) {  // as it was handed over, rows at their pitch
    box.strides = t.strides;
    box.region_bytes = (box.cell0_bytes + box.span_bytes() + 2 * guard_bytes) / region_alignment * region_alignment;
  }
  std::vector<std::byte> region(box.region_bytes);
  paint(region, box, Guard::canary);
  paint_poison(region, box, poison_bits(t.dtype, Poison::first, 16));
  return scan(region, box, Guard::canary).clean();
}

struct Corruption {
  const char* property;
  std::function<bool(HandedTensor&, const ArgumentSpec&, const std::vector<HandedTensor>& others)>
      change;  // false: has none
};

const std::vector<Corruption>& corruptions() {
  static const std::vector<Corruption> list = {
      {"shape", [](auto& t, const auto&, const auto&) { return ++t.shape.back(), true; }},
      {"shape", [](auto& t, const auto&, const auto&) { return ++t.shape.front(), true; }},
      {"shape",
       [](auto& t, const auto&, const auto&) {
         t.shape.insert(t.shape.begin(), 1);
         t.strides.insert(t.strides.begin(), 1);
         return true;
       }},
      {"dtype", [](auto& t, const auto&,
                   const auto&) { return t.dtype = t.dtype == DType::f64 ? DType::f32 : DType::f64, true; }},
      {"device",
       [](auto& t, const auto&, const auto&) {
         t.device = t.device == DeviceType::host ? DeviceType::cuda : DeviceType::host;
         return true;
       }},
      {"strides",
       [](auto& t, const auto&, const auto&) {  // a hole between columns
         if (t.shape.back() < 2 || element_count(t.shape) == 0) return false;
         for (std::int64_t& s : t.strides) s *= 2;
         return t.shape.size() > 1;
       }},
      {"strides",
       [](auto& t, const auto&, const auto&) {  // rows on top of each other
         if (t.shape.size() < 2 || t.shape[t.shape.size() - 2] < 2 || t.shape.back() < 2 || element_count(t.shape) == 0)
           return false;
         t.strides[t.shape.size() - 2] = 1;
         return true;
       }},
      {"strides",
       [](auto& t, const auto& a, const auto&) {  // rows at a pitch where none is allowed
         if (a.strided || t.shape.size() < 2 || t.shape[t.shape.size() - 2] < 2 || element_count(t.shape) == 0)
           return false;
         for (std::size_t d = 0; d + 1 < t.strides.size(); ++d) t.strides[d] += t.shape.back();
         return true;
       }},
      {"alignment", [](auto& t, const auto& a,
                       const auto&) { return t.cell0_bytes += static_cast<std::uint64_t>(a.alignment) / 2, true; }},
      {"aliasing", [](auto& t, const auto& a, const auto& others) {
         for (const HandedTensor& o : others) {
           const auto step = static_cast<std::uint64_t>(a.alignment);
           const std::uint64_t inside = (o.cell0_bytes + step - 1) / step * step;
           if (inside >= end_of(o) || element_count(t.shape) == 0) continue;
           t.arena = o.arena;
           t.cell0_bytes = inside;
           return true;
         }
         return false;
       }}};
  return list;
}

}  // namespace

std::string objection(const SlotSpec& slot, const ArgumentSpec& a, const Case& c, DeviceType run, const HandedTensor& t,
                      const std::vector<HandedTensor>& others) {
  const Extents shape = slot.shape(a, c);
  if (t.shape != shape) return "shape: " + a.name + " is " + text(t.shape) + ", and the call's is " + text(shape);
  if (t.dtype != slot.dtype(a, c)) return "dtype: " + a.name + " is " + std::string(name_of(t.dtype));
  if (t.device != run) return "device: " + a.name + " is on " + std::string(name_of(t.device));
  const TensorView view{nullptr, t.dtype, t.shape, t.strides};
  const bool laid_out = t.strides.size() == t.shape.size() &&
                        (a.strided || c.padded || c.far ? is_strided(t.shape, t.strides) : view.contiguous());
  if (!laid_out) return "strides: " + a.name + " has " + text(t.strides) + ", which its stride rule does not allow";
  if (t.cell0_bytes % static_cast<std::uint64_t>(a.alignment) != 0)
    return "alignment: " + a.name + " is not at a multiple of " + std::to_string(a.alignment);
  for (const HandedTensor& o : others)
    if (overlap(t, o)) return "aliasing: " + a.name + " shares storage with " + o.name;
  return {};
}

Findings signature(const SlotSpec& slot, const Allocate& allocate) {
  Findings wrong;
  bool any = false;
  for (const ArgumentSpec& a : slot.arguments) {
    if (a.kind != 'o') continue;
    any = true;
    stated(slot, a, wrong);
  }
  if (!any) wrong.push_back(slot.id + " has no output");
  if (!wrong.empty()) return wrong;
  std::map<std::string, int> refused;  // corruptions by property
  const DType types[] = {DType::f32, DType::f16, DType::bf16};
  for (int i = 0; i < kCalls && wrong.empty(); ++i) {
    try {
      Case c =
          drawn_case(slot, types[i % 3], Tier::quick, 100 * i / kCalls, mix64(static_cast<std::uint64_t>(i) + 511));
      const std::vector<HandedTensor> all = allocate(slot, c);
      for (std::size_t k = 0; k < all.size(); ++k) {
        const auto a = std::find_if(slot.arguments.begin(), slot.arguments.end(),
                                    [&](const ArgumentSpec& s) { return s.name == all[k].name; });
        if (a == slot.arguments.end() || a->kind != 'o') continue;
        std::vector<HandedTensor> others = all;
        others.erase(others.begin() + static_cast<std::ptrdiff_t>(k));
        if (const std::string why = objection(slot, *a, c, DeviceType::host, all[k], others); !why.empty())
          wrong.push_back(slot.id + ": what is allocated breaks the contract: " + why + "; " + describe(c));
        if (!c.far && !poisons(all[k], a->alignment))
          wrong.push_back(slot.id + "." + a->name + " cannot be poisoned: " + describe(c));
        for (const Corruption& corruption : corruptions()) {
          HandedTensor bad = all[k];
          if (!corruption.change(bad, *a, others)) continue;
          const std::string why = objection(slot, *a, c, DeviceType::host, bad, others);
          if (why.starts_with(std::string(corruption.property) + ":"))
            ++refused[corruption.property];
          else
            wrong.push_back(slot.id + "." + a->name + " with another " + corruption.property + " is " +
                            (why.empty() ? "taken" : "refused for its " + why) + ": " + describe(c));
        }
      }
    } catch (const std::exception& error) {
      wrong.push_back(slot.id + ": a call cannot be allocated: " + error.what());
    }
  }
  for (const char* property : {"shape", "dtype", "device", "strides", "alignment", "aliasing"})
    if (wrong.empty() && refused[property] < 8)
      wrong.push_back(slot.id + ": no call shows that another " + property + " is refused");
  return wrong;
}

}  // namespace assay
