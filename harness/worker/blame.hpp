// blame.hpp: from a worker's black box and the way it ended to a verdict, by one table.
//
// Promises: a pure function; the candidate is blamed only for what the black box places inside its code.
// Who calls it: session.cc. Its tests go through the table row by row.
#pragma once

#include <cstdint>
#include <string>

#include "harness/result/verdict.hpp"
#include "harness/worker/black_box.hpp"

namespace assay {

struct Fault {
  Verdict verdict = Verdict::no_decision;  // fail or no_decision
  Reason reason = Reason::harness;
  Phase phase = Phase::trusted;
  std::uint32_t step = 0;
  std::string text;                        // one line
  int arena = -1;                          // that holds the fault address, or -1
  std::uint64_t offset = 0;                // bytes into it
  int rank = -1;                           // of several: whose it is
};

struct Ending {
  bool deadline = false;       // the judge's deadline passed; the judge ended the worker
  bool signalled = false;
  int signal = 0;              // of the wait status
  bool exited = false;
  int status = 0;
  bool fork_left = false;      // a call left processes behind
};

// A copy of the black box as plain numbers.
struct BoxReading {
  Phase phase = Phase::trusted;
  std::uint32_t step = 0, calls = 0, signal = 0, fault_arena = 0;
  std::uint64_t fault_address = 0, fault_offset = 0;
  bool refused_allocation = false, control_lost = false, stack_overflow = false;
};
[[nodiscard]] BoxReading read(const BlackBox&) noexcept;

[[nodiscard]] Fault blame(const BoxReading&, const Ending&);

}  // namespace assay
