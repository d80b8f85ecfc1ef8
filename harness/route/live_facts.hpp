// harness/route/live_facts.hpp: the facts of a call read off the objects that it is really given.
//
// Promises: routing-and-targets.md 2.1 as data for the eleven slots: each count comes from an extent, a scalar or the
// group that was passed, never from what the caller believes of the call (DR-7). Facts that no argument shows
// (page_size of a cache object, model of the arena) are the binding's own and are handed in. The result holds exactly
// what the supply matrix lists. A slot of another project has no row here: all its facts are the binding's own. Offline
// verification and the live binding end in the same describe(); that both give the same bytes is tested over random
// shapes and in every `routed` trial (DR-10). Who calls it: the `routed` drive, conformance's descriptor_of.
//
//   const Descriptor live = describe(supply, live_facts(supply, passed, owned), passed);
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "harness/capability/descriptor.hpp"
#include "harness/route/structure.hpp"

namespace assay {

// A call as it is handed over: arguments, and what surrounds it.
struct PassedCall {
  std::vector<PassedTensor> tensors;  // in the call's order, then the raw weights of what was prepared
  std::map<std::string, std::int64_t, std::less<>> integers;  // i64 and i32 scalars
  std::int64_t group_size = 1;
  std::string architecture = "cpu";
  bool capturing = false;
};

// What the slot's own file says of a case, and the size of the group.
[[nodiscard]] Facts offline_facts(const SlotSpec&, const Case&);
// `owned`: the binding's own facts, used where no argument shows one. Throws DescriptorError (DR-10) where a count
// comes from nowhere; a word that nobody knows is left out (DR-4).
[[nodiscard]] Facts live_facts(const SlotSupply&, const PassedCall&, const Facts& owned);

// The one builder: the facts, dtype of the primary activation (the first tensor), architecture and graph mode.
[[nodiscard]] Descriptor describe(const Facts&, std::string_view dtype, std::string_view architecture, bool capturing);

}  // namespace assay
