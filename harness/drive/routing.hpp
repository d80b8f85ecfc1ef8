// routing.hpp: one call site in front of stock and the candidate's variants, for drives that route.
//
// Promises: a call is decided from what is really passed and from what each rank's worker says of its group, before any
// step of it is in the program; then exactly one side serves it, on every rank alike. What was decided and who served
// go to Observation::routed, the call itself to Observation::calls under the same label. Stock is the reference,
// rounded. Who calls it: routed_drive.cc; drives that make one rank ineligible.
//
//   Router router(bench, seen);
//   if (!router.learn()) return;                                  // asks the workers; false: a fault
//   RoutedSeen& r = router.decide(b, {.ask = RoutedSeen::Ask::ineligible, .ineligible_rank = 1});
//   router.serve(b, r, "rank 1 is ineligible");                   // stock, on all ranks
#pragma once

#include <string>
#include <vector>

#include "harness/drive/drives.hpp"
#include "harness/route/live_facts.hpp"

namespace assay {

struct RouteAsk {
  RoutedSeen::Ask ask = RoutedSeen::Ask::inside;
  ExcludedPhase phase = ExcludedPhase::none;
  std::string withheld = {};  // a field that the binding cannot establish
  int ineligible_rank = -1;
  bool capturing = false;
};

// What a call of this binding hands over, weights included.
[[nodiscard]] PassedCall passed_call(const SlotSpec&, const Binding&);

class Router {
 public:
  Router(Bench&, Observation&);

  // Without a routing table nothing is asked and nothing routed.
  [[nodiscard]] bool routes() const noexcept { return bench_.variant().routing != nullptr; }
  // Runs what was appended so far and asks every rank's worker about its group.
  bool learn();
  // Decides one call on all ranks. The reference stays valid until the next decision.
  RoutedSeen& decide(const Binding&, const RouteAsk&);
  // Appends the call, with fresh outputs, by whoever it was decided for. A sibling variant of a slot with weights has
  // none prepared and is not called. False: the program was run, and failed.
  bool serve(Binding&, RoutedSeen&, const std::string& label);

 private:
  struct RankFacts {
    int place = 0, size = 1;  // in its group
    std::uint64_t group = 0, entries = 0;
  };
  [[nodiscard]] RouteDecision decide_on(int rank, const Binding&, const RouteAsk&, RoutedSeen&) const;
  void count_entries(std::size_t routed, std::int64_t sign);

  Bench& bench_;
  Observation& seen_;
  std::vector<RankFacts> ranks_;
};

}  // namespace assay
