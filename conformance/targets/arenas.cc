// arenas.cc: where each registered target can be reached. The facts about MiniMax-M3 are the source documents'; what
// this suite's own arenas say was probed by targets/call_site_test.cc, or is not probed.
#include <algorithm>

#include "conformance/targets/registered.hpp"

namespace assay {
namespace {

const char kEpilogue[] = "collective.moe_epilogue.v1";

bool sums_over_ranks(const std::string& slot) {
  return slot.starts_with("collective.") || slot == "moe.fused_experts_reduce";
}

AvailabilityRow minimax_m3(const std::string& target) {
  AvailabilityRow row{.arena = "minimax-m3-nvfp4-tp4", .target = target, .state = Availability::installable};
  if (target == "norm.rmsnorm") {
    row.state = Availability::not_reached;
    row.reason = "the model uses a Gemma-style norm at every site";
  } else if (target == "attention.msa_block_score") {
    row.state = Availability::no_adapter;
    row.reason = "contract and verifier exist, and nothing installs a candidate";
  } else if (target.starts_with("moe.")) {
    row.state = Availability::form_excluded;
    row.reason = "its NVFP4 profiles accept source and JIT entries only";
    row.excluded = {ArtifactForm::sealed};
  }
  return row;
}

AvailabilityTable build_table() {
  AvailabilityTable table;
  std::vector<std::string> targets = {kEpilogue};
  for (const ContractNames& n : registered_names()) targets.push_back(n.slot);
  for (const std::string& target : targets) {
    table.push_back(minimax_m3(target));
    // The host worker is the adapter. It calls one slot at a time: nothing installs two as one.
    AvailabilityRow host{.arena = "cpu-model", .target = target, .state = Availability::installable};
    const std::int64_t ranks = sums_over_ranks(target) ? 2 : 1;
    if (target == kEpilogue) {
      host.state = Availability::no_adapter;
      host.reason = "the worker calls one slot at a time";
    }
    const std::int64_t completed = host.state == Availability::installable ? ranks : 0;
    host.probe = probe_digest({host.arena, target, ranks, completed, 0});
    table.push_back(host);
    for (const char* arena : {"h200-single", "h200-multi"}) {
      AvailabilityRow gpu{.arena = arena, .target = target, .state = host.state, .reason = host.reason};
      if (gpu.state == Availability::installable && arena == std::string("h200-single") && sums_over_ranks(target)) {
        gpu.state = Availability::topology_excluded;
        gpu.reason = "its ranks share one device: values can be verified, speed cannot";
      }
      table.push_back(gpu);
    }
  }
  return table;
}

}  // namespace

const std::vector<DeploymentArena>& arenas() {
  static const std::vector<DeploymentArena> list = {
      {"cpu-model", "no device: the host model of streams, events and graphs"},
      {"h200-multi", "two H200 or more, a rank each"},
      {"h200-single", "one H200: ops, blocks, the engine loop; ranks of collectives share it"},
      {"minimax-m3-nvfp4-tp4", "MiniMax-M3-NVFP4, SGLang, TP4 on the B300 class (sm103); from the source documents"}};
  return list;
}

const AvailabilityTable& availability() {
  static const AvailabilityTable table = build_table();
  return table;
}

}  // namespace assay
