// crash.hpp: what a worker writes into its black box while it dies, and the limits that it dies under.
//
// Promises: handlers run on an alternate stack, write the signal, the address and the arena that holds it, and let the
// signal's default action end the process; malloc's refusals under the worker's own limit are noted.
// Who calls it: worker/main.cc only; never in --in-process runs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "harness/worker/black_box.hpp"

namespace assay {

void install_crash_handlers(BlackBox*);            // SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT
void use_alternate_stack();                        // once on each thread that runs candidate code
void note_candidate_stack(const void* low, std::size_t guard_bytes);
// The candidate's mapping of arena `id`, so that a fault address can be named. base NULL forgets it.
void note_arena(std::uint32_t id, const void* base, std::uint64_t span);
void limit_data(std::uint64_t bytes);              // RLIMIT_DATA; 0: no limit. Core dumps are off either way.

}  // namespace assay
