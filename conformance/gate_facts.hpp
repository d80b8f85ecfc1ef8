// gate_facts.hpp: what a gate's verdict is bound to, gathered before anything is judged.
//
// Promises: digests of the contracts of all slots that the run is to judge, of the rules that it judges with, and of
// the program's own parts. Reads files, loads none. Who calls it: check.cc (run line), shard.cc (receipts).
#pragma once

#include "conformance/commands.hpp"
#include "harness/result/gate.hpp"
#include "harness/result/waivers.hpp"

namespace assay {

[[nodiscard]] GateRecord gate_facts(const Options&, const std::vector<Unit>&, const Waivers&);

// Of the slot's row in the target catalogue; empty where it has none, and in a program of a stranger's slots only.
[[nodiscard]] std::string registered_contract(const SlotSpec&);

}  // namespace assay
