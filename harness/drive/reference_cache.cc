#include "harness/drive/reference_cache.hpp"

#include "harness/compare/output.hpp"

namespace assay {
namespace {

constexpr std::size_t kReferenceBytes = 64u << 20;

// Whether a kernel that does nothing would fail this case clearly, on every output.
bool is_informative(const SlotSpec& slot, const Case& c, const ReferenceResult& result) {
  for (const Expected& e : result.outputs)
    if (!null_check_output(slot.comparing(c), c.dtype, e).informative) return false;
  return true;
}

}  // namespace

ReferenceCall call_of(const SlotSpec& slot, const Binding& b) {
  ReferenceCall call;
  for (const Placed& p : b.tensors)
    if (p.spec->kind == 'i') call.inputs[p.spec->name] = p.values.view();
  if (slot.kind == Kind::collective) {
    call.ranks.resize(static_cast<std::size_t>(b.c.world));
    for (const Placed& p : b.tensors)
      for (int rank = 0; p.spec->per_rank && rank < b.world(); ++rank)
        call.ranks[static_cast<std::size_t>(rank)][p.spec->name] = p.of(rank).view();
  }
  for (const ArgumentSpec& a : slot.arguments)
    if (!a.choices.empty()) call.scalars[a.name] = slot.scalar(a, b.c);
  call.dims = b.c.dims;
  call.knobs = b.c.knobs;
  return call;
}

std::shared_ptr<const ReferenceResult> ReferenceCache::of(const SlotSpec& slot, const Binding& b, bool* informative) {
  bool cacheable = true;
  std::string key;
  for (std::size_t i = 0; i < b.versions.size(); ++i) {
    cacheable = cacheable && b.versions[i] != kValuesByHand;
    key += std::to_string(b.versions[i]) + ",";
  }
  if (cacheable) {
    key += b.values_key;
    if (const auto known = entries_.find(key); known != entries_.end()) {
      if (informative) *informative = known->second.informative;
      return known->second.result;
    }
  }
  const ReferenceCall call = call_of(slot, b);
  auto result = std::make_shared<ReferenceResult>();
  module_.find(slot.reference)(call, *result);
  Entry entry;
  entry.informative = is_informative(slot, b.c, *result);
  entry.result = std::move(result);
  if (informative) *informative = entry.informative;
  if (cacheable) {
    std::size_t bytes = 0;
    for (const Expected& e : entry.result->outputs) bytes += 16 * static_cast<std::size_t>(e.expected.size());
    if (bytes_ + bytes > kReferenceBytes) {
      entries_.clear();
      bytes_ = 0;
    }
    bytes_ += bytes;
    entries_[key] = entry;
  }
  return entry.result;
}

void ReferenceCache::clear() {
  entries_.clear();
  bytes_ = 0;
}

}  // namespace assay
