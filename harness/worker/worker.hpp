// worker.hpp: a worker's life, from HELLO to QUIT, in a process of its own or (--in-process) on a thread of the judge.
//
// Promises: obeys one judge on one socket; a control thread watches the socket and ends the process when the judge is
// gone; all candidate code runs on one candidate thread.
// Who calls it: main.cc of the worker programs; session.cc for in-process runs.
#pragma once

#include <atomic>
#include <cstdint>

namespace assay {

struct WorkerOptions {
  int control = -1;            // SEQPACKET socket
  int black_box = -1;          // memory file of one BlackBox
  int program = -1;            // memory file of one Program
  std::uint64_t data_limit = 0;  // bytes; 0: none
  void (*note_refusals)(std::atomic<std::uint32_t>*) = nullptr;  // refusals.hpp, where it is linked in
  bool own_process = true;     // false: in the judge's process; no handlers, no limits, no _exit
};

int serve(const WorkerOptions&);  // returns the exit status
// Parses --control N --black-box N --program N --data-limit N; without them it is confined (confinement.hpp), or the
// supervisor of one that is.
int worker_main(int argc, char** argv, void (*note_refusals)(std::atomic<std::uint32_t>*));

}  // namespace assay
