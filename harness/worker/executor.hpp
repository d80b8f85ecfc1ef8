// executor.hpp: runs programs of steps against a device and a candidate's variants. All of it is trusted code but the
// entry that a call step enters.
//
// Promises: writes each step's result before the next step; announces every candidate phase in the black box before it
// begins; ends the program at the first step that fails.
// Who calls it: worker.cc, on the candidate thread.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/device/device.hpp"
#include "harness/device/memory.hpp"
#include "harness/receipt/call_receipts.hpp"
#include "harness/worker/black_box.hpp"
#include "harness/worker/call.hpp"
#include "harness/worker/group.hpp"
#include "harness/worker/program.hpp"

namespace assay {

struct WorkerArena {
  std::unique_ptr<ArenaMapping> candidate;  // the addresses that the candidate gets; none of a shelf
  std::unique_ptr<ArenaMapping> trusted;    // read-write, elsewhere: a candidate can map other memory over its own view
  std::uint64_t span = 0;

  [[nodiscard]] std::byte* trusted_base() const noexcept { return trusted->base(); }
};

class Executor {
 public:
  Executor(Device& device, BlackBox& box, std::map<std::uint32_t, WorkerArena>& arenas,
           std::map<std::uint32_t, std::unique_ptr<Group>>& groups, const assay_library& library,
           CallReceipts& receipts);
  ~Executor();

  // Once a variant and group (0: without one). Throws std::runtime_error with the candidate's error, DeviceError where
  // the machine was what failed.
  void init_variant(std::uint32_t variant, std::uint32_t group);
  // `named`: the calls that receipts may be minted for.
  void run(Program& program, std::optional<NamedCalls> named);

  // Called after each entry: the number of processes left behind, and whether the control socket is still ours.
  std::function<std::uint32_t()> children_left;
  std::function<bool()> control_ok;

 private:
  struct Frame;  // all host memory that one call was given

  Outcome step(Program&, const ProgramStep&, ProgramResult&);
  Outcome call(Program&, const ProgramStep&, ProgramResult&);
  Outcome prepare(Program&, const ProgramStep&, ProgramResult&);
  Outcome release(std::uint64_t token, ProgramResult*);
  Outcome lose(const ProgramStep&);
  Outcome call_again(const assay_variant&, Frame&, ProgramResult&);
  template <class Do>
  Outcome repeat(const ProgramStep&, Do&&);
  Outcome wait_for(std::uint32_t stream);
  Outcome after_candidate(ProgramResult&);
  Outcome enter_group(std::uint32_t group, assay_call&) const;
  void tell_receipts(const ProgramStep&, const ProgramResult&);
  void describe(const ProgramTensor&, Frame&, std::size_t slot, bool writable);

  Device& device_;
  BlackBox& box_;
  std::map<std::uint32_t, WorkerArena>& arenas_;
  std::map<std::uint32_t, std::unique_ptr<Group>>& groups_;  // from 1 on
  const assay_library& library_;
  CallReceipts& receipts_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, void*> states_;  // by variant and group
  struct Prepared {
    std::uint32_t variant = 0;
    void* data = nullptr;
  };
  std::map<std::uint64_t, Prepared> prepared_;  // by token, across programs until reset
  std::deque<std::unique_ptr<Frame>> frames_;  // of the running program
};

}  // namespace assay
