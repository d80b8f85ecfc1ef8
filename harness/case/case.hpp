// case.hpp: a Case is plain data that fixes one call completely; a Trial is what is run, judged, shrunk and replayed.
//
// Promises: equal data, equal canonical JSON, equal digest; reading what was written gives the same data. Values are
// not stored: they follow from seed and recipe.
// Who uses it: everything above the worker.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "assay/tensor.hpp"

namespace assay {

struct ArgumentLayout {
  std::int64_t pad = 0;      // elements between the rows of a strided tensor; 0: contiguous
  std::int64_t offset = 0;   // bytes that the tensor lies further from its region's start, a multiple of its alignment
  friend bool operator==(const ArgumentLayout&, const ArgumentLayout&) = default;
};

struct Case {
  std::string slot;
  DType dtype = DType::f32;                          // the run dtype
  std::map<std::string, std::int64_t> dims;
  std::map<std::string, std::string> knobs;
  std::map<std::string, ArgumentLayout> layouts;     // by argument; absent: contiguous
  std::map<std::string, double> scalars;
  std::string recipe = "normal";
  std::uint64_t seed = 0;
  bool early = false;                                // host model: early schedule
  std::uint64_t block_seed = 0;                      // host model: order of blocks
  bool far = false;                                  // rows at a pitch over 2^31 elements, gaps unmapped
  bool padded = false;                               // outputs that are contiguous elsewhere have row padding
  std::int64_t world = 1;                            // ranks of the call's group; 1 outside collective slots

  [[nodiscard]] std::int64_t operator[](std::string_view dim) const;  // throws std::out_of_range
  friend bool operator==(const Case&, const Case&) = default;
};

inline constexpr std::int64_t kMostRanks = 16;

[[nodiscard]] nlohmann::json to_json(const Case&);
[[nodiscard]] Case case_from_json(const nlohmann::json&);             // throws std::invalid_argument, one sentence
[[nodiscard]] std::string digest(const Case&);                        // SHA-256 of the canonical JSON, hex
[[nodiscard]] std::string describe(const Case&);                      // "rows=7 hidden=129 fp16 recipe=tag ..."

// The closed list of drives; names as in rules.md.
enum class Drive : std::uint8_t {
  eager, two_poisons, relocated, guard_pages, garbage, variation, repeat_under_load, late_producer, held_stream,
  two_streams, capture_replay, interleaved_graphs, regrow, many_replays, prepared, burst, groups, one_rank,
  routed, endurance,
};
inline constexpr std::size_t kDrives = 20;
[[nodiscard]] std::string_view name_of(Drive) noexcept;
[[nodiscard]] Drive drive_from(std::string_view);                     // throws std::invalid_argument
[[nodiscard]] std::size_t cases_of(Drive) noexcept;                   // how many cases the drive's program takes

struct TrialPart {
  Drive drive = Drive::eager;
  std::vector<Case> cases;           // of one world
  friend bool operator==(const TrialPart&, const TrialPart&) = default;
};

// Runs in one worker: first what came before, unjudged, then the part that is judged.
struct Trial {
  std::string variant;
  DeviceType device = DeviceType::host;
  std::vector<TrialPart> history;
  TrialPart part;
  friend bool operator==(const Trial&, const Trial&) = default;
};

[[nodiscard]] nlohmann::json to_json(const Trial&);
[[nodiscard]] Trial trial_from_json(const nlohmann::json&);           // throws std::invalid_argument, one sentence
// Reads a file that `assay check` wrote. Throws std::invalid_argument, one sentence that names the file.
[[nodiscard]] Trial read_trial(const std::string& path);
[[nodiscard]] std::string digest(const Trial&);

}  // namespace assay
