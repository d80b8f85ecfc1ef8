// verdict.attribution: the failure table against the specification's, against every reason, and against what blame()
// says of injected ends of a worker.
#include "harness/result/failure_table.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "harness/case/json.hpp"
#include "harness/case/rapid_test.hpp"
#include "harness/worker/blame.hpp"

namespace assay {
namespace {

using nlohmann::json;

json table_of_the_specification() {
  std::ifstream file(ASSAY_FIXTURES "/verdict_vectors.json");
  std::ostringstream text;
  text << file.rdbuf();
  return parse_strict(text.str(), "fixtures/verdict_vectors.json")["table"];
}

TEST(FailureTable, SaysWhatTheSpecificationSays) {
  for (const json& row : table_of_the_specification()) {
    const FailureRow* found = find_failure(row[0].get<std::string>(), row[1].get<std::string>());
    ASSERT_NE(found, nullptr) << row;
    EXPECT_EQ(name_of(found->action), row[2].get<std::string>()) << row;
    EXPECT_EQ(name_of(found->owes), row[3].get<std::string>()) << row;
  }
}

TEST(FailureTable, HasOneRowAPhaseAndEvent) {
  std::set<std::pair<std::string_view, std::string_view>> known;
  for (const FailureRow& row : failure_table()) EXPECT_TRUE(known.emplace(row.phase, row.event).second) << row.event;
}

TEST(FailureTable, EveryReasonHasItsRowAndTheVerdictThatTheRowOwes) {
  for (int r = 1; r <= static_cast<int>(Reason::interrupted); ++r) {
    const auto reason = static_cast<Reason>(r);
    SCOPED_TRACE(name_of(reason));
    const FailureRow* row = failure_of(reason);
    ASSERT_NE(row, nullptr);
    EXPECT_NE(row->owes, Owed::not_admitted) << "what was not admitted has no verdict";
    const Verdict verdict = verdict_of(reason);
    EXPECT_EQ(fails_run(verdict), row->owes == Owed::candidate);
    EXPECT_EQ(undecides_run(verdict),
              row->owes == Owed::infrastructure || row->owes == Owed::validator || row->owes == Owed::measurement);
  }
  EXPECT_EQ(failure_of(Reason::none), nullptr);
}

TEST(FailureTable, AttributionFollowsTheVerdictAndItsReason) {
  holds("FAIL is the candidate's, a pass nobody's, the rest neither's", 2000, [] {
    const auto verdict = static_cast<Verdict>(*rc::gen::inRange(0, static_cast<int>(Verdict::no_decision) + 1));
    const auto reason = static_cast<Reason>(*rc::gen::inRange(0, static_cast<int>(Reason::interrupted) + 1));
    const Attribution whose = attribution_of(verdict, reason);
    RC_ASSERT((whose == Attribution::candidate) == (verdict == Verdict::fail || verdict == Verdict::waived));
    RC_ASSERT((whose == Attribution::none) ==
              (!fails_run(verdict) && !undecides_run(verdict) && verdict != Verdict::waived));
  });
}

// design.md, "Judge and worker", row by row: who owns the end of a worker, without a word of blame().
Owed owner(Phase phase, const Ending& end, const BoxReading& box) {
  const bool candidates = phase == Phase::entry || phase == Phase::init || phase == Phase::prepare ||
                          phase == Phase::release || phase == Phase::destroy || phase == Phase::workspace ||
                          phase == Phase::host_kernel || phase == Phase::peers;
  if (end.fork_left) return Owed::candidate;
  if (end.signalled && end.signal == SIGKILL && !end.deadline) return Owed::infrastructure;  // not ours
  if (phase == Phase::load) return Owed::candidate;
  if (box.control_lost) return Owed::candidate;
  if (end.deadline && phase == Phase::waiting) return Owed::candidate;  // its stream is unfinished
  return candidates ? Owed::candidate : Owed::infrastructure;
}

TEST(FailureTable, AnyInjectedEndOfAWorkerIsBlamedAsTheTableOwes) {
  std::set<Reason> seen;
  holds("blame agrees with the table", 5000, [&] {
    BoxReading box;
    box.phase = static_cast<Phase>(*rc::gen::inRange(0, static_cast<int>(Phase::peers) + 1));
    box.refused_allocation = *rc::gen::inRange(0, 6) == 0;
    box.control_lost = *rc::gen::inRange(0, 12) == 0;
    box.fault_arena = *rc::gen::inRange(0, 4) == 0 ? 2 : 0;
    Ending end;
    switch (*rc::gen::inRange(0, 4)) {
      case 0:
        end.deadline = true;
        end.signalled = true;  // the judge's own
        end.signal = SIGKILL;
        break;
      case 1:
        end.signalled = true;
        end.signal = *rc::gen::element(SIGSEGV, SIGABRT, SIGBUS, SIGKILL, SIGTERM, SIGFPE);
        break;
      case 2:
        end.exited = true;
        end.status = *rc::gen::inRange(0, 256);
        break;
      default:
        end.fork_left = true;
    }
    const Fault fault = blame(box, end);
    const FailureRow* row = failure_of(fault.reason);
    RC_ASSERT(row != nullptr);
    RC_ASSERT(row->owes == owner(box.phase, end, box));
    RC_ASSERT(fault.verdict == verdict_of(fault.reason));
    RC_ASSERT(name_of(attribution_of(fault.verdict, fault.reason)) == name_of(row->owes));
    seen.insert(fault.reason);
  });
  EXPECT_GE(seen.size(), 9u) << "the injections miss reasons that blame knows";
}

}  // namespace
}  // namespace assay
