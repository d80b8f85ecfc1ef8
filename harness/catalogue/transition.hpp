// harness/catalogue/transition.hpp: which targets may be active together, what installing one does, who is tried first.
//
// Promises: TX-1 to TX-6 and composition of routing-and-targets.md 11.8, 11.9. A set of active targets is valid or the
// sentence says why; a plan is one delta; the order of attempts follows from the rules and the ids alone.
// Who calls it: admission, the router's call sites, settlement.
//
//   const Delta d = plan(catalogue, frozen_digest, {"collective.ar_residual_rmsnorm"}, "collective.moe_epilogue.v1");
//   d.displaced;   // {"collective.ar_residual_rmsnorm"}
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "harness/catalogue/target.hpp"

namespace assay {

class TransitionRefused : public std::runtime_error {
 public:
  TransitionRefused(std::string rule, const std::string& sentence)
      : std::runtime_error(rule + ": " + sentence), rule_(std::move(rule)) {}
  [[nodiscard]] const std::string& rule() const noexcept { return rule_; }  // "TX-4"

 private:
  std::string rule_;
};

using ActiveTargets = std::set<std::string>;

// Throws TransitionRefused("TX-1", ...).
void check_active(const Catalogue&, const ActiveTargets&);

struct Delta {
  std::string target;
  ActiveTargets displaced;  // that were active
  ActiveTargets after;
};
// Installs a target over a valid active set. `frozen` is the digest of the catalogue that the attempt was bound to.
[[nodiscard]] Delta plan(const Catalogue&, std::string_view frozen, const ActiveTargets& active,
                         const std::string& target);

// What is deployed: a delta's digest a target, the whole stack's, and the tree's that it was built from.
struct Stack {
  std::map<std::string, std::string> deltas;
  std::string digest, tree_digest;
};
// TX-5: the candidate's stack is the incumbent's but for the delta.
void check_stack(const Delta&, const Stack& incumbent, const Stack& candidate);

// Active targets of one call site in the order in which they are tried.
[[nodiscard]] std::vector<std::string> attempt_order(const Catalogue&, const ActiveTargets&,
                                                     std::string_view binding_family);
struct CallTaken {
  std::string target;         // empty: stock
  bool stock_reduces = true;  // the engine's own sum over the ranks follows
};
// The first that selects the call takes it.
[[nodiscard]] CallTaken take_call(const Catalogue&, const ActiveTargets&, std::string_view binding_family,
                                  const std::function<bool(const std::string&)>& selects);

}  // namespace assay
