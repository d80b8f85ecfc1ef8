// routed_drive.cc: calls through a router: inside the domain, on the other side of its boundary, with a fact unknown,
// while the runtime tunes itself, and with one rank ineligible.
#include <algorithm>

#include "harness/drive/routing.hpp"
#include "harness/route/output_spec.hpp"
#include "harness/route/routing_table.hpp"
#include "harness/tensor/philox.hpp"

namespace assay {

using Ask = RoutedSeen::Ask;

PassedCall passed_call(const SlotSpec& slot, const Binding& b) {
  PassedCall call;
  for (const Placed& p : b.tensors) call.tensors.push_back({p.spec->name, p.dtype, p.shape, p.strides});
  for (const ArgumentSpec& a : slot.arguments)
    if (a.kind == 'l' || a.kind == 'w') call.integers[a.name] = static_cast<std::int64_t>(slot.scalar(a, b.c));
  return call;
}

namespace {

// Step 3 for what the slot's own arguments are; weights are looked at when they are prepared.
Objection check_arguments(const SlotSpec& slot, const Case& c, const PassedCall& passed) {
  std::vector<PassedTensor> arguments;
  for (const PassedTensor& t : passed.tensors)
    if (std::any_of(slot.arguments.begin(), slot.arguments.end(), [&](const auto& a) { return a.name == t.name; }))
      arguments.push_back(t);
  if (auto why = check_tensors(slot, c.dtype, arguments, RowForm::library)) return why;
  for (const TensorSpec& spec : resolve_outputs(slot, c).outputs)
    for (const PassedTensor& t : arguments)
      if (t.name == spec.name && (t.shape != spec.shape || t.dtype != spec.dtype))
        return "the output " + t.name + " is not what the slot's output spec says";
  return std::nullopt;
}

}  // namespace

Router::Router(Bench& bench, Observation& seen) : bench_(bench), seen_(seen), ranks_(1 + seen.others.size()) {}

bool Router::learn() {
  bench_.label("facts of the group");
  bench_.expect(bench_.script().facts(), [this](Observation& to, const ProgramResult& r) {
    ranks_[static_cast<std::size_t>(to.rank)] = {r.group_rank, r.group_size, r.group_id, r.entries};
  });
  return bench_.flush();
}

RouteDecision Router::decide_on(int rank, const Binding& b, const RouteAsk& ask, RoutedSeen& seen) const {
  const SlotSpec& slot = bench_.slot();
  const RoutingTable& table = *bench_.variant().routing;
  const RankFacts& mine = ranks_[static_cast<std::size_t>(rank)];
  PassedCall passed = passed_call(slot, b);
  passed.group_size = mine.size;
  passed.architecture = bench_.architecture();
  passed.capturing = ask.capturing;
  CallSite site;
  site.phase = ask.phase;
  site.structural = [&]() -> Objection {
    if (auto why = check_arguments(slot, b.c, passed)) return why;
    if (slot.kind != Kind::collective) return std::nullopt;
    GroupFacts group;
    group.size = mine.size;
    group.claimed_size = static_cast<int>(b.c.world);
    group.may_be_alone = true;
    group.eligible = rank != ask.ineligible_rank;
    return check_group(group);
  };
  site.describe = [&] {
    Facts facts = live_facts(table.supply, passed, offline_facts(slot, b.c));
    facts.erase(ask.withheld);
    const Descriptor live = describe(facts, name_of(passed.tensors.front().dtype), passed.architecture, ask.capturing);
    seen.live.push_back(live.encode());
    return live;
  };
  return assay::decide({.active = true, .variants = &table.variants}, site);
}

RoutedSeen& Router::decide(const Binding& b, const RouteAsk& ask) {
  RoutedSeen& r = seen_.routed.emplace_back();
  r.ask = ask.ask;
  r.detail = !ask.withheld.empty()      ? ask.withheld
             : ask.ineligible_rank >= 0 ? "rank " + std::to_string(ask.ineligible_rank)
                                        : std::string(name_of(ask.phase));
  Facts offline = offline_facts(bench_.slot(), b.c);
  offline.erase(ask.withheld);
  r.offline = describe(offline, name_of(b.c.dtype), bench_.architecture(), ask.capturing).encode();
  std::vector<std::optional<DecisionRecord>> records;
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    const RouteDecision d = decide_on(static_cast<int>(rank), b, ask, r);
    DecisionRecord record = record_of(bench_.slot().id, d);
    record.artifact_digest = bench_.variant().routing->artifact_digest;
    record.ordinal = ranks_[rank].entries;
    // The members of this rank's group, in the group's order.
    record.group.assign(static_cast<std::size_t>(ranks_[rank].size), -1);
    for (std::size_t other = 0; other < ranks_.size(); ++other)
      if (ranks_[other].group == ranks_[rank].group && ranks_[other].place < ranks_[rank].size)
        record.group[static_cast<std::size_t>(ranks_[other].place)] = static_cast<int>(other);
    records.emplace_back(std::move(record));
    if (rank == 0) r.decision = d;
  }
  r.agreement = agree(records);
  r.entries.assign(ranks_.size(), 0);
  return r;
}

void Router::count_entries(std::size_t routed, std::int64_t sign) {
  // The program may run when this router is gone; what was seen is there as long as the trial.
  bench_.expect(bench_.script().facts(), [&seen = seen_, routed, sign](Observation& to, const ProgramResult& r) {
    seen.routed[routed].entries[static_cast<std::size_t>(to.rank)] += sign * static_cast<std::int64_t>(r.entries);
  });
}

bool Router::serve(Binding& b, RoutedSeen& r, const std::string& label) {
  const bool candidate = r.agreement.by == Served::candidate;
  const RoutingTable& table = *bench_.variant().routing;
  if (candidate && r.decision.variant != bench_.variant().id && !bench_.slot().weights.empty()) return true;
  if (r.agreement.by == Served::aborted) return true;
  const auto index = static_cast<std::size_t>(&r - seen_.routed.data());
  r.label = label;
  r.called = true;
  bench_.label(label);
  if (!candidate) {
    bench_.push_inputs(b);
    count_entries(index, -1);
    bench_.serve_by_stock(b);
    bench_.script().simple(Op::sync, 0);
    // Whatever the candidate has left anywhere on the device is over before stock's result is looked at.
    bench_.script().simple(Op::sync_device, 0);
  } else {
    bench_.push(b);
    count_entries(index, -1);
    const std::uint32_t variant = table.index.at(r.decision.variant);
    if (variant != bench_.variant().index) bench_.also_ready(variant);
    const int call = bench_.script().call(b, 0, variant);
    bench_.script().simple(Op::sync, 0);
    count_entries(index, 1);
    return bench_.collect(b, label, {.call = call});
  }
  count_entries(index, 1);
  return bench_.collect(b, label);
}

void drive_routed(Bench& bench, Observation& seen) {
  Router router(bench, seen);
  if (!router.routes()) return drive_eager(bench, seen);
  const Case& c = seen.trial.part.cases[0];
  Binding& b = bench.bind(c);
  Binding& other = bench.bind(seen.trial.part.cases[1], Placement::ordinary, 1);
  if (!router.learn()) return;
  std::uint64_t version = 0;
  const auto ask = [&](Binding& binding, const RouteAsk& how, const std::string& label) {
    mutate(bench, {&binding}, version++);
    return router.serve(binding, router.decide(binding, how), label);
  };
  seen.routed.reserve(8);

  if (!ask(b, {.ask = Ask::excluded, .phase = ExcludedPhase::tuning}, "while the runtime tunes itself")) return;
  if (!ask(b, {.ask = Ask::inside}, "inside the domain")) return;
  // One of the facts that the domain names, a different one by seed.
  std::vector<std::string> named;
  for (const NamedDomain& v : bench.variant().routing->variants.variants())
    if (v.id == bench.variant().id)
      for (const auto& [field, set] : v.domain.fields)
        if (!set.or_absent &&
            std::find(mandatory_fields().begin(), mandatory_fields().end(), field) == mandatory_fields().end())
          named.push_back(field);
  if (!named.empty()) {
    const std::string& field = named[static_cast<std::size_t>(derive_key(c.seed, "withheld") % named.size())];
    if (!ask(b, {.ask = Ask::withheld, .withheld = field}, "with " + field + " unknown")) return;
  }
  if (!ask(other, {.ask = Ask::other}, "the other call")) return;
  if (bench.slot().kind == Kind::collective && c.world > 1) {
    const int rank = static_cast<int>(derive_key(c.seed, "ineligible") % static_cast<std::uint64_t>(c.world));
    if (!ask(b, {.ask = Ask::ineligible, .ineligible_rank = rank}, "rank " + std::to_string(rank) + " is ineligible"))
      return;
  }
  (void)router.decide(b, {.ask = Ask::captured, .capturing = true});
  ask(b, {.ask = Ask::inside}, "inside the domain again");
}

}  // namespace assay
