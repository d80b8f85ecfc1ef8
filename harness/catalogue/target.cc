#include "harness/catalogue/target.hpp"

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "harness/case/json.hpp"
#include "harness/catalogue/canonical.hpp"

namespace assay {
namespace {

using nlohmann::json;
using Ids = std::set<std::string>;
using Graph = std::map<std::string, Ids>;

[[noreturn]] void refuse(const char* rule, const std::string& sentence) { throw CatalogueError(rule, sentence); }

// Everything that can be reached from a node, the node itself only by a cycle.
Ids reach(const Graph& graph, const std::string& from) {
  Ids seen;
  std::vector<std::string> todo = {from};
  while (!todo.empty()) {
    const auto edges = graph.find(todo.back());
    todo.pop_back();
    if (edges == graph.end()) continue;
    for (const std::string& next : edges->second)
      if (seen.insert(next).second) todo.push_back(next);
  }
  return seen;
}

void need_acyclic(const char* rule, const char* what, const Graph& graph) {
  for (const auto& [id, edges] : graph)
    if (reach(graph, id).count(id) != 0) refuse(rule, std::string(what) + " leads from " + id + " back to it");
}

bool meet(const Ids& a, const Ids& b) {
  return std::any_of(a.begin(), a.end(), [&](const std::string& id) { return b.count(id) != 0; });
}

Graph edges_of(const std::vector<Target>& targets, Ids TargetSpec::*relation) {
  Graph graph;
  for (const Target& t : targets) graph[t.spec().id] = t.spec().*relation;
  return graph;
}

}  // namespace

std::string_view name_of(TargetKind k) noexcept { return k == TargetKind::slot ? "slot" : "atomic"; }

const Ids& known_features() {
  static const Ids features = {"artifact", "entry", "patch", "prepare", "setup", "sources", "variants"};
  return features;
}

json Target::snapshot() const {
  json row = {{"target_id", spec_.id},
              {"kind", name_of(spec_.kind)},
              {"members", spec_.members},
              {"displaces", spec_.displaces},
              {"compatible_with", spec_.compatible_with},
              {"requires", spec_.needs},
              {"allowed_features", spec_.allowed_features},
              {"contract_digest", contract_digest_}};
  if (spec_.contract) row["contract"] = to_json(*spec_.contract, 2);
  if (spec_.kind == TargetKind::atomic) {
    row["atomic_semantics_id"] = spec_.atomic_semantics_id;
    row["member_contract_digests"] = member_digests_;
  }
  return row;
}

Catalogue::Catalogue(CataloguePolicy policy, std::vector<TargetSpec> specs, std::vector<CompositionRule> rules,
                     const Ids& slots)
    : policy_(std::move(policy)), rules_(std::move(rules)) {
  std::sort(specs.begin(), specs.end(), [](const TargetSpec& a, const TargetSpec& b) { return a.id < b.id; });
  std::sort(rules_.begin(), rules_.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  for (TargetSpec& spec : specs) {
    Target t;
    t.spec_ = std::move(spec);
    targets_.push_back(std::move(t));
  }
  check_targets(slots);
  check_relations();
  check_rules();
  for (Target& t : targets_)
    if (t.spec_.contract) t.contract_digest_ = assay::contract_digest(*t.spec_.contract);
  for (Target& t : targets_) {
    if (t.spec_.kind == TargetKind::atomic) {
      for (const std::string& member : t.spec_.members) t.member_digests_[member] = find(member)->contract_digest();
      t.contract_digest_ = envelope_digest("assay.atomic-target-contract",
                                           {{"schema_version", 1},
                                            {"target_id", t.spec_.id},
                                            {"atomic_semantics_id", t.spec_.atomic_semantics_id},
                                            {"member_contract_digests", t.member_digests_}},
                                           1);
    }
    t.digest_ = envelope_digest("assay.target-spec", t.snapshot(), 1);
  }
  digest_ = envelope_digest("assay.target-catalog", snapshot(), 1);
}

const Target* Catalogue::find(std::string_view id) const {
  const auto at = std::lower_bound(targets_.begin(), targets_.end(), id,
                                   [](const Target& t, std::string_view other) { return t.spec_.id < other; });
  return at != targets_.end() && at->spec_.id == id ? &*at : nullptr;
}

Ids Catalogue::displaced_by(std::string_view id) const {
  return reach(edges_of(targets_, &TargetSpec::displaces), std::string(id));
}

json Catalogue::snapshot() const {
  json targets = json::array(), rules = json::array();
  for (const Target& t : targets_) {
    targets.push_back(t.snapshot());
    targets.back()["digest"] = t.digest();
  }
  for (const CompositionRule& r : rules_)
    rules.push_back({{"rule_id", r.id},
                     {"mode", r.mode},
                     {"precedence", r.precedence},
                     {"members", Ids(r.precedence.begin(), r.precedence.end())},
                     {"binding_family_id", r.binding_family}});
  return {{"schema_version", 1},
          {"policy_version", policy_.version},
          {"toolchain", policy_.toolchain},
          {"toolchain_digest", envelope_digest("assay.toolchain-policy", policy_.toolchain, 1)},
          {"targets", std::move(targets)},
          {"composition", std::move(rules)}};
}

void Catalogue::check_targets(const Ids& slots) const {
  if (targets_.empty()) refuse("CI-1", "the catalogue has no target");
  std::map<Ids, std::string> by_members;
  for (std::size_t i = 0; i < targets_.size(); ++i) {
    const TargetSpec& t = targets_[i].spec_;
    if (t.id.empty()) refuse("CI-1", "a target has no id");
    if (i > 0 && targets_[i - 1].spec_.id == t.id) refuse("CI-1", "two targets are called " + t.id);
    if (t.kind == TargetKind::slot) {
      if (t.members != Ids{t.id}) refuse("CI-2", t.id + " is a slot target, and its one member is not itself");
      if (!t.contract || t.contract->slot_id != t.id || !t.atomic_semantics_id.empty())
        refuse("CI-2", t.id + " is a slot target without a contract of its own slot");
      if (slots.count(t.id) == 0) refuse("CI-14", t.id + " is a target, and no slot of this name is registered");
    } else {
      if (t.members.size() < 2) refuse("CI-3", t.id + " is atomic with fewer than two members");
      for (const std::string& member : t.members) {
        const Target* single = find(member);
        if (!single || single->spec_.kind != TargetKind::slot)
          refuse("CI-3", t.id + " has " + member + ", which is no slot target");
        if (t.displaces.count(member) == 0) refuse("CI-3", t.id + " does not displace its member " + member);
      }
      if (t.atomic_semantics_id.empty() || t.contract)
        refuse("CI-3", t.id + " is atomic: it has semantics of its own and no slot's contract");
    }
    const auto [twin, fresh] = by_members.emplace(t.members, t.id);
    if (!fresh) refuse("CI-4", t.id + " has the members of " + twin->second);
    for (const std::string& feature : t.allowed_features)
      if (known_features().count(feature) == 0)
        refuse("CI-13", t.id + " allows " + shown(feature) + ", which is no feature");
    if (t.allowed_features.count("entry") == 0) refuse("CI-13", t.id + " does not allow an entry");
    if (t.allowed_features.count("setup") != 0) refuse("CI-13", t.id + " allows setup code");
  }
  for (const std::string& slot : slots)
    if (!find(slot)) refuse("CI-14", "the slot " + slot + " is registered, and no target is");
}

void Catalogue::check_relations() const {
  const Graph displaces = edges_of(targets_, &TargetSpec::displaces), needs = edges_of(targets_, &TargetSpec::needs);
  for (const Target& target : targets_) {
    const TargetSpec& t = target.spec_;
    for (const auto& [name, relation] :
         {std::pair("displaces", &t.displaces), {"is compatible with", &t.compatible_with}, {"requires", &t.needs}})
      for (const std::string& other : *relation) {
        if (other == t.id) refuse("CI-6", t.id + " " + name + " itself");
        if (!find(other)) refuse("CI-6", t.id + " " + name + " " + shown(other) + ", which is no target");
      }
  }
  need_acyclic("CI-8", "displacement", displaces);
  need_acyclic("CI-8", "requirement", needs);
  for (const Target& target : targets_) {
    const TargetSpec& t = target.spec_;
    const Ids out = reach(displaces, t.id);
    for (const Target& other : targets_) {
      const std::string& id = other.spec_.id;
      if (id <= t.id) continue;
      if (meet(t.members, other.spec_.members) && out.count(id) == 0 && reach(displaces, id).count(t.id) == 0)
        refuse("CI-5", t.id + " and " + id + " share a member, and neither displaces the other");
    }
    for (const std::string& friendly : t.compatible_with) {
      const Target& other = *find(friendly);
      if (other.spec_.compatible_with.count(t.id) == 0)
        refuse("CI-7", t.id + " is compatible with " + friendly + ", which does not say so");
      if (out.count(friendly) != 0) refuse("CI-7", t.id + " displaces " + friendly + " and is compatible with it");
    }
    for (const std::string& needed : reach(needs, t.id)) {
      if (out.count(needed) != 0) refuse("CI-9", t.id + " requires " + needed + ", which it displaces");
      if (reach(displaces, needed).count(t.id) != 0)
        refuse("CI-9", t.id + " requires " + needed + ", which displaces it");
    }
  }
}

void Catalogue::check_rules() const {
  std::map<Ids, int> pairs;
  for (const Target& t : targets_)
    for (const std::string& other : t.spec_.compatible_with) pairs[{t.spec_.id, other}] = 0;
  Graph order;
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    const CompositionRule& r = rules_[i];
    if (r.id.empty() || (i > 0 && rules_[i - 1].id == r.id))
      refuse("CI-1", "the rule " + shown(r.id) + " has no id of its own");
    if (r.precedence.size() != 2 || r.precedence[0] == r.precedence[1] || r.mode != "first_applicable")
      refuse("CI-11", r.id + " is no first_applicable rule of a pair");
    const auto pair = pairs.find({r.precedence[0], r.precedence[1]});
    if (pair == pairs.end()) refuse("CI-10", r.id + " orders two targets that are not compatible");
    if (++pair->second > 1) refuse("CI-10", r.id + " is the pair's second rule");
    for (const std::string& id : r.precedence) {
      const auto& contract = find(id)->spec_.contract;
      if (!contract || contract->binding_family_id != r.binding_family)
        refuse("CI-11", r.id + " is of a call site that " + id + " is not bound to");
    }
    order[r.precedence[0]].insert(r.precedence[1]);
  }
  for (const auto& [pair, count] : pairs)
    if (count == 0)
      refuse("CI-10", *pair.begin() + " and " + *pair.rbegin() + " are compatible, and no rule orders them");
  need_acyclic("CI-12", "precedence", order);
}

}  // namespace assay
