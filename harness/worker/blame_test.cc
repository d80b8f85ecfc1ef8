// The blame table of design.md, row by row, and what holds across its rows.
#include "harness/worker/blame.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <set>
#include <string>
#include <vector>

namespace assay {
namespace {

const std::vector<Phase> kPhases = {Phase::starting, Phase::trusted,     Phase::load,    Phase::init,
                                    Phase::prepare,  Phase::release,     Phase::destroy, Phase::workspace,
                                    Phase::entry,    Phase::host_kernel, Phase::waiting, Phase::after_entry};
const std::set<Phase> kCandidate = {Phase::init,      Phase::prepare, Phase::release,    Phase::destroy,
                                    Phase::workspace, Phase::entry,   Phase::host_kernel};

BoxReading in(Phase phase) {
  BoxReading box;
  box.phase = phase;
  box.step = 3;
  return box;
}
Ending died(int signal) {
  Ending end;
  end.signalled = true;
  end.signal = signal;
  return end;
}
Ending left(int status) {
  Ending end;
  end.exited = true;
  end.status = status;
  return end;
}
Ending late() {
  Ending end;
  end.deadline = true;
  end.signalled = true;  // the judge's own SIGKILL
  end.signal = SIGKILL;
  return end;
}

void expect(const BoxReading& box, const Ending& end, Verdict verdict, Reason reason) {
  const Fault f = blame(box, end);
  EXPECT_EQ(name_of(f.verdict), name_of(verdict)) << name_of(box.phase) << ": " << f.text;
  EXPECT_EQ(name_of(f.reason), name_of(reason)) << name_of(box.phase) << ": " << f.text;
  EXPECT_EQ(f.phase, box.phase);
  EXPECT_EQ(f.step, box.step);
  EXPECT_EQ(f.text.find('\n'), std::string::npos);
  EXPECT_FALSE(f.text.empty());
}

TEST(Blame, ASignalInCandidateCodeIsACrash) {
  for (const Phase phase : kCandidate)
    for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM, SIGTERM})
      expect(in(phase), died(signal), Verdict::fail, Reason::crash);
}

TEST(Blame, EndingTheProcessInCandidateCodeIsAnExitWithItsStatus) {
  for (const Phase phase : kCandidate)
    for (const int status : {0, 1, 70}) expect(in(phase), left(status), Verdict::fail, Reason::exit);
  EXPECT_NE(blame(in(Phase::entry), left(42)).text.find("42"), std::string::npos);
}

TEST(Blame, ADeadlineInCandidateCodeOrWithItsStreamUnfinishedIsATimeout) {
  for (const Phase phase : kCandidate) expect(in(phase), late(), Verdict::fail, Reason::timeout);
  expect(in(Phase::waiting), late(), Verdict::fail, Reason::timeout);
}

TEST(Blame, AFaultInLentMemoryIsADeviceFaultThatNamesTheByte) {
  for (const Phase phase : kCandidate) {
    BoxReading box = in(phase);
    box.fault_arena = 1;  // arena 0
    box.fault_offset = 8192;
    expect(box, died(SIGSEGV), Verdict::fail, Reason::device_fault);
    const Fault f = blame(box, died(SIGSEGV));
    EXPECT_EQ(f.arena, 0);
    EXPECT_EQ(f.offset, 8192u);
    EXPECT_NE(f.text.find("8192"), std::string::npos);
  }
  EXPECT_EQ(blame(in(Phase::entry), died(SIGSEGV)).arena, -1) << "no arena held the address";
}

TEST(Blame, AStackOverflowIsACrashThatSaysSo) {
  BoxReading box = in(Phase::entry);
  box.stack_overflow = true;
  expect(box, died(SIGSEGV), Verdict::fail, Reason::crash);
  EXPECT_NE(blame(box, died(SIGSEGV)).text.find("stack overflow"), std::string::npos);
}

TEST(Blame, ALostControlDescriptorIsTheCandidatesWhereverItIsNoticed) {
  for (const Phase phase : {Phase::entry, Phase::after_entry, Phase::trusted}) {
    BoxReading box = in(phase);
    box.control_lost = true;
    expect(box, left(70), Verdict::fail, Reason::descriptors);
  }
}

TEST(Blame, AChildLeftBehindIsForked) {
  Ending end;
  end.fork_left = true;
  expect(in(Phase::after_entry), end, Verdict::fail, Reason::forked);
}

TEST(Blame, DeathOrDeadlineWhileLoadingIsALoadCrash) {
  expect(in(Phase::load), died(SIGSEGV), Verdict::fail, Reason::load_crash);
  expect(in(Phase::load), left(0), Verdict::fail, Reason::load_crash);
  expect(in(Phase::load), late(), Verdict::fail, Reason::load_crash);
}

TEST(Blame, ARefusedAllocationThenDeathInCandidateCodeIsOutOfMemory) {
  for (const Phase phase : kCandidate) {
    BoxReading box = in(phase);
    box.refused_allocation = true;
    expect(box, died(SIGSEGV), Verdict::fail, Reason::out_of_memory);
    expect(box, left(1), Verdict::fail, Reason::out_of_memory);
  }
  BoxReading trusted = in(Phase::trusted);
  trusted.refused_allocation = true;
  expect(trusted, died(SIGSEGV), Verdict::no_decision, Reason::harness);
}

TEST(Blame, AForeignKillDecidesNothingInAnyPhase) {
  for (const Phase phase : kPhases) {
    BoxReading box = in(phase);
    expect(box, died(SIGKILL), Verdict::no_decision, Reason::killed);
    box.refused_allocation = box.control_lost = true;
    expect(box, died(SIGKILL), Verdict::no_decision, Reason::killed);
  }
}

TEST(Blame, DeathOrDeadlineInTrustedCodeDecidesNothing) {
  for (const Phase phase : kPhases) {
    if (kCandidate.count(phase) || phase == Phase::load) continue;
    expect(in(phase), died(SIGSEGV), Verdict::no_decision, Reason::harness);
    expect(in(phase), left(1), Verdict::no_decision, Reason::harness);
    if (phase != Phase::waiting) expect(in(phase), late(), Verdict::no_decision, Reason::harness);
  }
}

TEST(Blame, EveryVerdictIsTheOneThatItsReasonStandsFor) {
  std::vector<Ending> endings = {late(), died(SIGSEGV), died(SIGKILL), left(0), left(3)};
  endings.push_back(left(0));
  endings.back().fork_left = true;
  for (const Phase phase : kPhases)
    for (const Ending& end : endings)
      for (unsigned bits = 0; bits < 16; ++bits) {
        BoxReading box = in(phase);
        box.fault_arena = bits & 1;
        box.refused_allocation = bits & 2;
        box.control_lost = bits & 4;
        box.stack_overflow = bits & 8;
        const Fault f = blame(box, end);
        EXPECT_EQ(name_of(f.verdict), name_of(verdict_of(f.reason))) << f.text;
      }
}

TEST(Blame, EveryPhaseHasANameOfItsOwn) {
  std::set<std::string_view> names;
  for (const Phase phase : kPhases) names.insert(name_of(phase));
  EXPECT_EQ(names.size(), kPhases.size());
  EXPECT_EQ(name_of(static_cast<Phase>(99)), "unknown");
}

TEST(Blame, ABoxWithAScribbledPhaseReadsAsTrusted) {
  BlackBox box;
  box.phase = 0xDEADBEEF;
  box.step = 9;
  box.fault_offset = 1ULL << 40;
  const BoxReading r = read(box);
  EXPECT_EQ(r.phase, Phase::trusted);
  EXPECT_EQ(r.step, 9u);
  EXPECT_EQ(r.fault_offset, 1ULL << 40);
}

}  // namespace
}  // namespace assay
