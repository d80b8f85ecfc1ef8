#include "harness/receipt/call_receipts.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "harness/catalogue/canonical.hpp"

namespace assay {
namespace {

std::string digest_of(const GraphInventory& g) {
  return envelope_digest("assay.graph-inventory",
                         {{"nodes", g.nodes},
                          {"kernels", g.kernels},
                          {"copies", g.copies},
                          {"allocations", g.allocations},
                          {"host_callbacks", g.host_callbacks}},
                         1);
}

}  // namespace

void CallReceipts::begin(std::optional<NamedCalls> names) {
  names_ = std::move(names);
  pending_.clear();
  capturing_.reset();
  in_capture_.clear();
}

std::optional<CallIdentity> CallReceipts::named(std::uint32_t step, std::uint32_t variant) const {
  if (!names_ || variant >= variants_.size()) return std::nullopt;
  const auto at = names_->descriptors.find(step);
  if (at == names_->descriptors.end()) return std::nullopt;
  return CallIdentity{variants_[variant].slot, variants_[variant].id, names_->contract_digest, at->second};
}

void CallReceipts::entering(std::uint32_t step, std::uint32_t variant) {
  if (const auto call = named(step, variant)) mint_.mint(ReceiptKind::fired, *call);
}

void CallReceipts::returned(std::uint32_t step, std::uint32_t variant, std::uint32_t stream,
                            std::optional<std::uint64_t> enqueued) {
  auto call = named(step, variant);
  if (!call || enqueued == std::uint64_t{0}) return;  // nothing lies on the stream that an event could come behind
  if (capturing_ == stream) {
    in_capture_.push_back(std::move(*call));
  } else {
    pending_.push_back({std::move(*call), stream, enqueued ? static_cast<std::int64_t>(*enqueued) : -1});
  }
}

void CallReceipts::begun_capture(std::uint32_t stream) {
  capturing_ = stream;
  in_capture_.clear();
}

void CallReceipts::ended_capture(std::uint32_t graph, const GraphInventory& inventory) {
  capturing_.reset();
  graphs_.erase(graph);
  if (in_capture_.empty() || inventory.nodes == 0) return;
  for (const CallIdentity& call : in_capture_)
    mint_.mint(ReceiptKind::completed, call,
               {{"phase", "captured"}, {"nodes", static_cast<std::int64_t>(inventory.nodes)}});
  graphs_[graph] = {std::exchange(in_capture_, {}), digest_of(inventory)};
}

void CallReceipts::launched(std::uint32_t graph, std::uint32_t stream) {
  const auto at = graphs_.find(graph);
  if (at == graphs_.end()) return;
  ++at->second.under_way;
  at->second.stream = stream;
}

void CallReceipts::settle(Captured& graph) {
  graph.replays += std::exchange(graph.under_way, 0);
  if (graph.replays < kLeastReplays) return;
  for (const CallIdentity& call : graph.calls)
    mint_.mint(ReceiptKind::replayed, call, {{"replays", graph.replays}, {"inventory_digest", graph.inventory_digest}});
}

void CallReceipts::settle(const Pending& p) {
  mint_.mint(ReceiptKind::completed, p.call, {{"phase", "eager"}, {"nodes", p.nodes}});
}

void CallReceipts::waited_for(std::uint32_t stream) {
  for (const Pending& p : pending_)
    if (p.stream == stream) settle(p);
  std::erase_if(pending_, [&](const Pending& p) { return p.stream == stream; });
  for (auto& [index, graph] : graphs_)
    if (graph.under_way && graph.stream == stream) settle(graph);
}

void CallReceipts::waited_for_device() {
  for (const Pending& p : pending_) settle(p);
  pending_.clear();
  for (auto& [index, graph] : graphs_)
    if (graph.under_way) settle(graph);
}

void CallReceipts::reset() {
  graphs_.clear();
  pending_.clear();
  capturing_.reset();
}

}  // namespace assay
