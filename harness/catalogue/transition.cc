#include "harness/catalogue/transition.hpp"

#include <algorithm>

namespace assay {
namespace {

[[noreturn]] void refuse(const char* rule, const std::string& sentence) { throw TransitionRefused(rule, sentence); }

}  // namespace

void check_active(const Catalogue& catalogue, const ActiveTargets& active) {
  for (const std::string& id : active) {
    const Target* target = catalogue.find(id);
    if (!target) refuse("TX-1", id + " is no registered target");
    for (const std::string& out : catalogue.displaced_by(id))
      if (active.count(out) != 0) refuse("TX-1", id + " displaces " + out + ", and both are active");
    for (const std::string& needed : target->spec().needs)
      if (active.count(needed) == 0)
        refuse("TX-1", id + " requires " + needed + ", which is not active; that stock serves it does not count");
  }
}

Delta plan(const Catalogue& catalogue, std::string_view frozen, const ActiveTargets& active,
           const std::string& target) {
  if (catalogue.digest() != frozen) refuse("TX-6", "the attempt is bound to another catalogue");
  if (!catalogue.find(target)) refuse("TX-1", target + " is no registered target");
  check_active(catalogue, active);
  for (const std::string& id : active)
    if (catalogue.displaced_by(id).count(target) != 0)
      refuse("TX-4", id + " is active and displaces " + target + ": an atomic target is never taken apart");
  Delta d{target, {}, active};
  for (const std::string& out : catalogue.displaced_by(target))
    if (d.after.erase(out) != 0) d.displaced.insert(out);
  d.after.insert(target);
  check_active(catalogue, d.after);
  return d;
}

void check_stack(const Delta& d, const Stack& incumbent, const Stack& candidate) {
  const auto changed = [&](const std::string& id) { return id == d.target || d.displaced.count(id) != 0; };
  std::map<std::string, std::string> expected = incumbent.deltas;
  for (const std::string& out : d.displaced) expected.erase(out);
  for (const auto& [id, digest] : expected) {
    const auto now = candidate.deltas.find(id);
    if (changed(id)) continue;
    if (now == candidate.deltas.end())
      refuse("TX-5", "the candidate's stack lacks " + id + ", which the delta leaves alone");
    if (now->second != digest) refuse("TX-5", "the candidate's stack changes " + id + ", which the delta leaves alone");
  }
  for (const auto& [id, digest] : candidate.deltas)
    if (id != d.target && expected.count(id) == 0)
      refuse("TX-5", "the candidate's stack holds " + id + ", which the delta does not install");
  if (candidate.deltas.count(d.target) == 0) refuse("TX-5", "the candidate's stack lacks " + d.target + " itself");
  if (candidate.digest == incumbent.digest) refuse("TX-5", "the two stacks are the same");
  if (candidate.tree_digest == incumbent.tree_digest) refuse("TX-5", "the two stacks were built from the same tree");
}

std::vector<std::string> attempt_order(const Catalogue& catalogue, const ActiveTargets& active,
                                       std::string_view binding_family) {
  std::map<std::string, std::set<std::string>> before;  // what has to be tried first
  for (const std::string& id : active) {
    const Target* t = catalogue.find(id);
    if (t && t->spec().contract && t->spec().contract->binding_family_id == binding_family) before[id];
  }
  for (const CompositionRule& r : catalogue.rules())
    if (before.count(r.precedence[0]) != 0 && before.count(r.precedence[1]) != 0)
      before[r.precedence[1]].insert(r.precedence[0]);
  std::vector<std::string> order;
  while (!before.empty()) {  // acyclic by CI-12; the map gives the least id among those that are ready
    const auto ready = std::find_if(before.begin(), before.end(), [](const auto& node) { return node.second.empty(); });
    order.push_back(ready->first);
    before.erase(ready);
    for (auto& node : before) node.second.erase(order.back());
  }
  return order;
}

CallTaken take_call(const Catalogue& catalogue, const ActiveTargets& active, std::string_view binding_family,
                    const std::function<bool(const std::string&)>& selects) {
  for (const std::string& id : attempt_order(catalogue, active, binding_family))
    if (selects(id)) return {id, catalogue.find(id)->spec().contract->kind != "collective"};
  return {};
}

}  // namespace assay
