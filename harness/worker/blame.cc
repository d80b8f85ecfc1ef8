#include "harness/worker/blame.hpp"

#include <csignal>
#include <cstring>

namespace assay {

std::string_view name_of(Phase phase) noexcept {
  switch (phase) {
    case Phase::starting: return "starting";
    case Phase::trusted: return "between calls";
    case Phase::load: return "load";
    case Phase::init: return "init";
    case Phase::prepare: return "prepare";
    case Phase::release: return "release";
    case Phase::destroy: return "destroy";
    case Phase::workspace: return "workspace";
    case Phase::entry: return "entry";
    case Phase::host_kernel: return "host kernel";
    case Phase::waiting: return "waiting for its stream";
    case Phase::after_entry: return "after the entry";
    case Phase::peers: return "in a collective";
  }
  return "unknown";
}

BoxReading read(const BlackBox& box) noexcept {
  BoxReading r;
  const std::uint32_t phase = box.phase.load();
  r.phase = phase <= static_cast<std::uint32_t>(Phase::peers) ? static_cast<Phase>(phase) : Phase::trusted;
  r.step = box.step;
  r.calls = box.calls;
  r.signal = box.signal;
  r.fault_arena = box.fault_arena;
  r.fault_address = box.fault_address;
  r.fault_offset = box.fault_offset;
  r.refused_allocation = box.refused_allocation != 0;
  r.control_lost = box.control_lost != 0;
  r.stack_overflow = box.stack_overflow != 0;
  return r;
}

Fault blame(const BoxReading& box, const Ending& end) {
  Fault f;
  f.phase = box.phase;
  f.step = box.step;
  if (box.fault_arena) {
    f.arena = static_cast<int>(box.fault_arena) - 1;
    f.offset = box.fault_offset;
  }
  const auto say = [&](Verdict verdict, Reason reason, const std::string& text) {
    f.verdict = verdict;
    f.reason = reason;
    f.text = text + " (phase: " + std::string(name_of(box.phase)) + ")";
    return f;
  };
  const bool candidate_phase = box.phase == Phase::entry || box.phase == Phase::init || box.phase == Phase::prepare ||
                               box.phase == Phase::release || box.phase == Phase::destroy ||
                               box.phase == Phase::workspace || box.phase == Phase::host_kernel ||
                               box.phase == Phase::peers;  // on tensors that the candidate named
  const std::string signal_name =
      end.signalled ? std::string(strsignal(end.signal)) + " (signal " + std::to_string(end.signal) + ")" : "";

  if (end.fork_left) return say(Verdict::fail, Reason::forked, "the call left a process behind; it was ended");
  // A SIGKILL that the judge did not send is the machine's: the kernel's OOM killer, an operator.
  if (!end.deadline && end.signalled && end.signal == SIGKILL)
    return say(Verdict::no_decision, Reason::killed, "the worker was killed from outside");
  if (box.phase == Phase::load) {
    return say(Verdict::fail, Reason::load_crash,
               end.deadline ? "loading the library did not finish in time"
               : end.signalled
                   ? "the library died while it was loaded: " + signal_name
                   : "the library ended its process while it was loaded, status " + std::to_string(end.status));
  }
  if (box.control_lost)
    return say(Verdict::fail, Reason::descriptors, "the candidate closed or replaced descriptors that it does not own");
  if (end.deadline) {
    if (candidate_phase || box.phase == Phase::waiting)
      return say(Verdict::fail, Reason::timeout, "the call did not finish within its deadline");
    return say(Verdict::no_decision, Reason::harness, "the worker did not answer in time");
  }
  if (candidate_phase) {
    if (box.refused_allocation)
      return say(Verdict::fail, Reason::out_of_memory, "an allocation over the worker's data limit was refused, then " +
                                                           (end.signalled ? signal_name : "the process ended"));
    if (end.signalled) {
      if (box.fault_arena)
        return say(Verdict::fail, Reason::device_fault,
                   "illegal access at byte " + std::to_string(box.fault_offset) + " of lent memory: a write to a "
                   "read-only input, or memory that is not there");
      if (box.stack_overflow) return say(Verdict::fail, Reason::crash, "stack overflow");
      return say(Verdict::fail, Reason::crash, signal_name);
    }
    return say(Verdict::fail, Reason::exit, "the candidate ended its process with status " + std::to_string(end.status));
  }
  return say(Verdict::no_decision, Reason::harness,
             end.signalled ? "the worker died in trusted code: " + signal_name
                           : "the worker ended in trusted code, status " + std::to_string(end.status));
}

}  // namespace assay
