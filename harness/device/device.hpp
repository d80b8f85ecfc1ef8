// device.hpp: what a worker can do with a device. One implementation for the host model, one for CUDA; the drives
// and rules know neither.
//
// Promises: every operation returns an Outcome and never throws; streams, events and graphs are small indices that
// the program chooses and the device creates on first use. reset() ends all of them.
// Who calls it: harness/worker, from its candidate thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "assay/abi.h"
#include "assay/tensor.hpp"

namespace assay {

// Why a step of a program did not do what it says. Kept in step with `name_of`.
enum class StepCode : std::uint32_t {
  ok,
  not_run,              // an earlier step ended the program
  entry_failed,         // the entry returned a status other than ASSAY_OK
  synchronised_held,    // the candidate waited for a stream that the program holds
  capture_illegal,      // a call that is illegal in capture was made; the capture is invalid
  capture_unjoined,     // a stream that joined the capture was not joined back
  capture_empty,        // nothing was captured
  capture_host_node,    // the graph holds a host callback
  device_fault,         // sticky error after candidate work: illegal address, misaligned, launch failure, ...
  launch_invalid,       // zero blocks, NULL kernel, unknown stream
  peer_gone,            // another rank ended: what waited for it came back
  out_of_memory,        // the device's or the machine's, never blamed on the candidate
  unsupported,          // the device cannot do this step
  infrastructure,       // the device failed before candidate work, or was lost
};
[[nodiscard]] std::string_view name_of(StepCode) noexcept;

struct Outcome {
  StepCode code = StepCode::ok;
  std::string text;     // one line for people
  [[nodiscard]] bool ok() const noexcept { return code == StepCode::ok; }
};

struct GraphInventory {
  std::uint32_t nodes = 0, kernels = 0, copies = 0, allocations = 0, host_callbacks = 0;
};

struct DeviceUsage {
  std::uint64_t bytes_used = 0;     // of the device's memory, by every process
  std::uint64_t handles = 0;        // live streams, events, graphs, allocations known to the device
  std::uint64_t scratch_bytes = 0;  // of bytes_used: the harness's own, of this process; grows with a program's calls
};

// How the host model orders work that the program leaves open; drawn from the Case.
struct Schedule {
  bool early = false;             // early: whatever is runnable runs at launch, side streams first; else late
  std::uint64_t block_seed = 0;   // order of the blocks of a launch; 0 is ascending
  bool threads = false;           // sync_device runs every stream on a thread of its own
};

enum class CaptureMode : std::uint32_t { global, thread_local_, relaxed };

class Device {
 public:
  virtual ~Device() = default;
  [[nodiscard]] virtual DeviceType type() const noexcept = 0;
  [[nodiscard]] virtual std::string describe() const = 0;  // "host model", "NVIDIA H200, driver 580.159"

  virtual void schedule(const Schedule&) {}                 // host model only
  virtual Outcome reset() = 0;                              // drops streams, events, graphs; waits for the device

  // Fills device, stream and host fields of a call on the given stream.
  virtual Outcome bind(assay_call&, std::uint32_t stream) = 0;

  // Trusted, stream-ordered work.
  virtual Outcome copy(std::uint32_t stream, void* to, const void* from, std::size_t bytes) = 0;
  virtual Outcome fill(std::uint32_t stream, void* to, std::uint32_t pattern, std::uint32_t pattern_bytes,
                       std::size_t count) = 0;              // pattern_bytes is 1, 2 or 4; count in patterns
  virtual Outcome load(std::uint32_t stream) = 0;           // other work on the device, beside the candidate's
  // What follows on the stream comes later by so much. Here: because the host, which enqueues it, waits.
  virtual Outcome delay(std::uint32_t stream, std::uint32_t microseconds);

  virtual Outcome record(std::uint32_t event, std::uint32_t stream) = 0;
  virtual Outcome wait(std::uint32_t stream, std::uint32_t event) = 0;
  virtual Outcome hold(std::uint32_t stream) = 0;           // the stream waits until unhold
  virtual Outcome unhold(std::uint32_t stream) = 0;
  virtual Outcome sync(std::uint32_t stream) = 0;
  virtual Outcome sync_device() = 0;
  // After candidate code: did it synchronise a held stream, or leave a sticky error? Clears the record.
  virtual Outcome verdict_on_call() = 0;
  // Operations that candidates have enqueued so far, trusted ones on their behalf included; where the device counts.
  [[nodiscard]] virtual std::optional<std::uint64_t> enqueued() const { return std::nullopt; }

  virtual Outcome begin_capture(std::uint32_t stream, CaptureMode) = 0;
  virtual Outcome end_capture(std::uint32_t stream, std::uint32_t graph, GraphInventory&) = 0;  // and instantiates
  virtual void abandon_captures() = 0;                      // what a program that failed left open; no graph comes of it
  virtual Outcome launch(std::uint32_t graph, std::uint32_t stream) = 0;
  virtual Outcome drop_graph(std::uint32_t graph) = 0;

  // Host memory that trusted copies go to and from, stream-ordered and without waiting; until unshare_host.
  virtual Outcome share_host(void*, std::size_t) { return {}; }
  virtual void unshare_host(void*) {}

  virtual Outcome usage(DeviceUsage&) = 0;
  // Bytes of the device's cache that are set aside in this process: what a call must leave as it was.
  [[nodiscard]] virtual std::uint64_t cache_set_aside() const noexcept { return 0; }
  // Scratch of the call (assay_call::workspace): poisoned, 256-byte aligned, at least `bytes`.
  virtual Outcome scratch(std::size_t bytes, void** memory) = 0;
};

}  // namespace assay
