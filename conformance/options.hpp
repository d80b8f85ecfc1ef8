// options.hpp: what `assay check` and its sisters were asked to do.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "assay/slot.hpp"
#include "harness/result/verdict_file.hpp"
#include "harness/worker/isolation.hpp"

namespace assay {

struct Options {
  enum class Command : std::uint8_t { check, replay, report, list, explain, targets, contract, verdict };
  Command command = Command::check;

  std::string library;                   // path; empty with --worker: the candidate linked into that worker
  std::string worker;                    // path of the worker program
  std::vector<std::string> slots, rules; // filters; empty: all
  std::vector<DeviceType> devices;       // empty: every one that the library declares
  std::vector<DType> dtypes;             // empty: bf16, fp16, fp32
  std::vector<int> ranks;                // group sizes of collectives; empty: 2 and 4
  std::vector<std::string> variants;     // filter by id; empty: all
  std::vector<std::string> slots_offered;  // --offers: the load check of assay_add_candidate
  Tier tier = Tier::quick;
  std::uint64_t seed = 0;
  unsigned jobs = 0;                     // 0: one a core, at most one a unit
  std::string report = "assay-report";
  std::string corpus;                    // empty: none
  std::string waivers;                   // file; empty: none
  std::string resume;                    // report folder of a run that was interrupted; empty: begin one
  std::string called = "assay";          // how the user calls this program, for commands that are printed
  bool gate = false;                     // tier gate, workers isolated as far as the machine allows, verdict.json
  IsolationLevel require_isolation = IsolationLevel::trusting;  // gate: less is refused
  std::shared_ptr<const Isolation> isolation;  // gate: what this process's workers are started under
  bool in_process = false, load_only = false;
  int ordinal = 0;                       // CUDA device

  std::string trial;                     // replay
  std::vector<std::string> folders;      // report: of one run, or of an earlier and a later one
  std::string output;                    // report: file; empty: in the folder, "-": standard output
  bool markdown = false;
  std::string verdict;                   // verdict verify: verdict.json, or its folder
  PinnedFacts expected;                  // verdict verify: what the caller knows from elsewhere
  std::string topic;                     // list: slots, rules, variants; explain: a rule; contract: a target
  bool json = false;                     // contract: for programs
  int schema = 2;

  // Internal: one shard of a run, writing result lines to a descriptor.
  int shard = -1, shards = 0, results_fd = -1, shared_fd = -1;
  int parts = 1;                         // of every unit's cases
  std::vector<std::size_t> finished;     // units, by their place, that an earlier process has judged
};

struct ParseOutcome {
  Options options;
  bool done = false;                     // help or version was printed, or the arguments are bad
  int exit_code = 0;
};

[[nodiscard]] ParseOutcome parse_options(int argc, char** argv);

}  // namespace assay
