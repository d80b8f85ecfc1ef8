// harness/route/routing_table.hpp: what a router knows of one slot on one device: its variants, and what their binding
// supplies.
//
// Promises: plain data. Variants that overlap are held all the same, so that what the library does can be watched;
// whoever routes for real refuses them first (overlaps()).
// Who calls it: load_candidate builds one a slot and device; the `routed` drive reads it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "harness/capability/supply.hpp"
#include "harness/route/variant_set.hpp"

namespace assay {

struct RoutingTable {
  VariantSet variants;
  SlotSupply supply;
  std::map<std::string, std::uint32_t> index;  // in the library's table, by id
  std::string artifact_digest = {};            // of the library's file; empty: not known
};

}  // namespace assay
