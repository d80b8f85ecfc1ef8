// session.hpp: the judge's side of one worker.
//
// Promises: every command returns within its time-out; a dead or silent worker is ended, reaped (with everything in
// its process group) and turned into a Fault by blame.hpp. Candidate output is kept for people and never parsed.
// Who calls it: harness/drive/bench.cc, conformance/main.cc (load).
#pragma once

#include <poll.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/device/memory.hpp"
#include "harness/receipt/receipt.hpp"
#include "harness/worker/blame.hpp"
#include "harness/worker/program.hpp"

namespace assay {

class Isolation;

struct WorkerConfig {
  std::string worker;                  // path of the worker program
  std::string library;                 // path of the candidate; empty: linked into the worker
  DeviceType device = DeviceType::host;
  int ordinal = 0;
  std::uint64_t data_limit = 0;        // bytes, host workers only; 0: none
  bool in_process = false;             // for debuggers; never evidence
  std::vector<std::string> environment;  // NAME=value, over what the worker inherits
  std::shared_ptr<const Isolation> isolation;  // null: under the judge's own user, with all that it sees
};

// What host workers get, where nothing asks for less: 2 GiB; none in asan builds, whose shadow memory it would refuse.
[[nodiscard]] std::uint64_t usual_data_limit() noexcept;

// The worker program is missing or does not speak the protocol: a fault of the installation.
class WorkerUnavailable : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The library cannot be used: bad input, with a code and one sentence.
class LibraryRefused : public std::runtime_error {
 public:
  LibraryRefused(std::string code, const std::string& text) : std::runtime_error(text), code_(std::move(code)) {}
  [[nodiscard]] const std::string& code() const noexcept { return code_; }

 private:
  std::string code_;
};

// The NCCL that a library brought with it; empty where it brought none.
struct NcclFacts {
  std::string path, version;
};

class WorkerSession {
 public:
  explicit WorkerSession(WorkerConfig);   // starts the process and waits for HELLO
  ~WorkerSession();
  WorkerSession(const WorkerSession&) = delete;
  WorkerSession& operator=(const WorkerSession&) = delete;

  // Each returns the fault that ended the worker, or nothing. Throws DeviceError where the device is absent,
  // LibraryRefused where the library cannot be used.
  [[nodiscard]] std::optional<Fault> open_device();
  // With a ticket its receipts are minted for that launch.
  [[nodiscard]] std::optional<Fault> load(const std::optional<LaunchTicket>& ticket = std::nullopt);
  // A shelf is host memory for trusted copies, on any device; candidates are never shown it. A hosted arena is the
  // worker's own memory: of the judge's, only the plan is used.
  enum class Use : std::uint8_t { lent, shelf, hosted };
  [[nodiscard]] std::optional<Fault> map(std::uint32_t arena, const Arena&, Access, Use use = Use::lent);
  // group 0: none. A refused init is a Fault: entry_failed, or nobody's where the machine was what failed.
  [[nodiscard]] std::optional<Fault> init(std::uint32_t variant, std::uint32_t group = 0);
  // The program in program(). `named`: JSON of its calls that receipts may be minted for, or empty.
  [[nodiscard]] std::optional<Fault> run(int deadline_ms, const std::string& named = {});
  // Receipts that came with answers, as they came; and the process that sends them.
  [[nodiscard]] std::vector<std::string> take_receipts();
  [[nodiscard]] std::int64_t pid() const noexcept;

  // ---- for workers that act at once (harness/rank): ask, wait on the descriptors, hear ----
  // What the member's group is made of: its segment, and on a GPU its sockets.
  void ask_join(std::uint32_t group, std::uint64_t id, int rank, int world, std::vector<int> descriptors);
  void ask_init(std::uint32_t variant, std::uint32_t group);
  void ask_run(const std::string& named = {});
  enum class Heard : std::uint8_t { nothing, answer, ended };
  void descriptors(std::vector<pollfd>&) const;                    // appends three
  [[nodiscard]] Heard hear();                                      // never waits
  [[nodiscard]] const std::string& refusal() const noexcept;       // of the last answer; empty: it was obeyed
  [[nodiscard]] Fault refused_init() const;                        // the last answer was a refusal of init
  [[nodiscard]] BoxReading box() const noexcept;
  // Ends it, where it lives, and blames by its black box. `ended`: hear() said so; else the deadline has passed.
  Fault bury(bool ended);
  [[nodiscard]] std::optional<Fault> left_behind();                // processes, of the last run
  [[nodiscard]] std::optional<Fault> disobeyed() const;            // its answer to the last run is none that it gives

  [[nodiscard]] Program& program() noexcept;
  [[nodiscard]] const std::string& description() const noexcept;   // JSON of LibraryDescription, after load
  [[nodiscard]] const NcclFacts& nccl() const noexcept;            // after load
  [[nodiscard]] const std::string& device_description() const noexcept;
  [[nodiscard]] bool alive() const noexcept;
  [[nodiscard]] std::string output() const;                        // last 64 KiB of the worker's stdout and stderr

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace assay
