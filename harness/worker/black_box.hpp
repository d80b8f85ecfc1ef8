// black_box.hpp: the page that a worker writes and its judge reads when the worker is gone.
//
// Promises: every field is a lock-free word, written by the worker before the thing it announces, and readable after
// the worker's death. Blame is read here (blame.hpp), never inferred from a closed socket.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

namespace assay {

enum class Phase : std::uint32_t {
  starting,     // trusted code before any candidate code
  trusted,      // trusted code between candidate phases
  load,         // dlopen, static initialisers, assay_get_library
  init, prepare, release, destroy, workspace,
  entry,        // inside the candidate's entry
  host_kernel,  // a candidate kernel of the host model
  waiting,      // trusted code that waits for the candidate's stream
  after_entry,  // trusted checks that follow an entry
  peers,        // inside a collective of the harness that the candidate called: waits for other ranks
};
[[nodiscard]] std::string_view name_of(Phase) noexcept;

struct BlackBox {
  std::atomic<std::uint32_t> phase{0};
  std::atomic<std::uint32_t> step{0};            // of the running program
  std::atomic<std::uint32_t> calls{0};           // entries made so far
  std::atomic<std::uint32_t> signal{0};          // that the worker's handler saw
  std::atomic<std::uint64_t> fault_address{0};
  std::atomic<std::uint32_t> fault_arena{0};     // 1 + arena that holds the address; 0: none
  std::atomic<std::uint64_t> fault_offset{0};    // bytes into that arena
  std::atomic<std::uint32_t> refused_allocation{0};  // malloc returned NULL under the worker's own limit
  std::atomic<std::uint32_t> control_lost{0};    // the control descriptor was closed or replaced
  std::atomic<std::uint32_t> stack_overflow{0};  // the fault lay in the candidate thread's guard page
};

}  // namespace assay
