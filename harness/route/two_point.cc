#include "harness/route/two_point.hpp"

namespace assay {
namespace {

// Head trimming may shrink the rows; everything else is as it was.
std::string first_difference(const Descriptor& stored, const Descriptor& now) {
  for (const auto& [field, value] : stored.fields()) {
    if (field == "num_tokens") continue;
    const FactValue* other = now.find(field);
    if (!other || *other != value) return field;
  }
  for (const auto& [field, value] : now.fields()) {
    if (field != "num_tokens" && !stored.find(field)) return field;
  }
  return {};
}

}  // namespace

void TwoPoint::begin_forward(ExcludedPhase phase) {
  counters_.stale_dropped += pending_.size();
  pending_.clear();
  forward_ = phase;
}

TwoPoint::Armed TwoPoint::arm(const RouteDecision& decision, std::vector<int> group, const Export& exported,
                              Layer layer) {
  if (layer != Layer::middle) {
    ++counters_.vetoes;
    return Armed::stock;
  }
  if (forward_ != ExcludedPhase::none || !decision.selected() || !decision.descriptor) return Armed::stock;
  if (pending_.count(exported.address)) return Armed::error;
  ++counters_.exports;
  pending_.emplace(exported.address, Pending{exported, decision.variant, *decision.descriptor, std::move(group)});
  return Armed::armed;
}

void TwoPoint::launched(std::uint64_t address, std::uint64_t before, std::uint64_t after) {
  if (before == after) pending_.erase(address);
}

TwoPoint::Answer TwoPoint::consume(const Consumer& now) {
  const auto found = pending_.find(now.address);
  if (found == pending_.end()) return {};
  const Pending stored = std::move(found->second);
  pending_.erase(found);
  const Export& e = stored.exported;
  if (now.phase != ExcludedPhase::none || forward_ != ExcludedPhase::none) {
    return {Finish::abort, "an export is pending and the runtime is in its phase " +
                               std::string(name_of(now.phase != ExcludedPhase::none ? now.phase : forward_))};
  }
  if (now.rows > e.exp_tokens) {
    return {Finish::abort,
            std::to_string(now.rows) + " rows are consumed and " + std::to_string(e.exp_tokens) + " were exported"};
  }
  if (now.hidden != e.hidden) {
    return {Finish::abort,
            "the consumer's width is " + std::to_string(now.hidden) + " and the export's " + std::to_string(e.hidden)};
  }
  if (e.top_k < 1 || e.top_k > kMostPlaces) {
    return {Finish::abort, std::to_string(e.top_k) + " places a token were exported; 1 to " +
                               std::to_string(kMostPlaces) + " are possible"};
  }
  const auto orphan = [&](std::string why) -> Answer {
    ++counters_.orphans;
    return {Finish::orphan, std::move(why)};
  };
  if (now.group != stored.group) return orphan("producer and consumer belong to different groups");
  if (!now.decision.selected() || !now.decision.descriptor) {
    return orphan("the consumer's call is " + std::string(name_of(now.decision.outcome)));
  }
  if (now.decision.variant != stored.variant) {
    return orphan("the producer selected " + stored.variant + " and the consumer " + now.decision.variant);
  }
  if (const std::string field = first_difference(stored.descriptor, *now.decision.descriptor); !field.empty()) {
    return orphan("producer and consumer differ in " + field);
  }
  ++counters_.consumed;
  return {Finish::fused, ""};
}

}  // namespace assay
