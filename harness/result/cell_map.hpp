// harness/result/cell_map.hpp: a small picture of one output of a failing call: which cells are wrong, and how far.
//
// Promises: at most map_rows lines of map_columns characters, whatever the output's size: each stands for a block of
// cells and shows the worst of them. Rows are all dimensions but the last, columns the last. Reading refuses what is
// not of this form.
// Not promised: evidence. The rule decided; this shows where to look.
// Who calls it: harness/drive/cell_map_of (makes them), records (writes and reads them), reports (draw them).
//
//   for (const CellMap& map : failure.maps) draw(map.lines);
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

inline constexpr std::size_t map_rows = 48, map_columns = 96, most_maps = 16;

// Best to worst: right; off by up to 2, 10, 100 times the run's tolerance, by more; another index than the reference
// chose; NaN or infinite; still what the output was poisoned with.
inline constexpr std::string_view map_marks = ".1234xnu";

struct CellMap {
  std::int64_t rank = 0;
  std::string call, output, dtype;
  std::string caught_in;  // the trial that first failed, for people; empty: of the shrunk trial
  std::vector<std::int64_t> shape;
  std::vector<std::string> lines;  // of one length, of map_marks
  std::int64_t off = 0;            // cells whose mark is not "."
  // Bytes outside the cells that were written, and on which sides the first of them lie.
  std::int64_t stray_bytes = 0;
  bool stray_before = false, stray_after = false;
  std::vector<std::int64_t> stray_lines;  // beside which the padding was written; ascending
  friend bool operator==(const CellMap&, const CellMap&) = default;
};

[[nodiscard]] nlohmann::json to_json(const CellMap&);
// Throws std::invalid_argument with what is wrong: "holds a map that ...".
[[nodiscard]] std::vector<CellMap> cell_maps_from(const nlohmann::json&);

}  // namespace assay
