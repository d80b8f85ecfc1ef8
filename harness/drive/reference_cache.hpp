// reference_cache.hpp: expected values of the bindings of a trial, computed once for all drives of a case.
//
// Promises: from the values that the judge generated, never from what came back; layout and schedule do not reach the
// values, so cases that differ only there share a reference. Holds at most 64 MiB.
// Who calls it: bench.cc.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>

#include "harness/drive/reference_module.hpp"
#include "harness/drive/script.hpp"

namespace assay {

// A version that names no recipe's values: they were set by hand, and their reference is not kept.
inline constexpr std::uint64_t kValuesByHand = ~0ULL;

// What the reference of a binding's present values is given.
[[nodiscard]] ReferenceCall call_of(const SlotSpec&, const Binding&);

class ReferenceCache {
 public:
  explicit ReferenceCache(ReferenceModule& module) : module_(module) {}

  // `informative`: whether a kernel that does nothing would clearly fail this case, on every output. May be NULL.
  [[nodiscard]] std::shared_ptr<const ReferenceResult> of(const SlotSpec&, const Binding&, bool* informative);
  void clear();

 private:
  struct Entry {
    std::shared_ptr<const ReferenceResult> result;
    bool informative = true;
  };
  ReferenceModule& module_;
  std::unordered_map<std::string, Entry> entries_;
  std::size_t bytes_ = 0;
};

}  // namespace assay
