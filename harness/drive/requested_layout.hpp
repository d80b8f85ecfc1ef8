// requested_layout.hpp: the layout that a case asks for one argument, as harness/tensor/layout lays it out.
//
// Promises: pure. Who calls it: bench.cc, which places tensors by it, and cell_map_of.cc, which says where a byte lies.
#pragma once

#include "assay/slot.hpp"
#include "harness/tensor/layout.hpp"

namespace assay {

[[nodiscard]] LayoutRequest request_of(const SlotSpec&, const ArgumentSpec&, const Case&);

}  // namespace assay
