#include "harness/result/cell_map.hpp"

#include <algorithm>
#include <stdexcept>

#include "harness/result/text.hpp"

namespace assay {
namespace {

using nlohmann::json;

constexpr std::size_t kKeys = 11;

[[noreturn]] void refuse(const char* why) { throw std::invalid_argument(why); }

const json& at(const json& map, const char* key) {
  const auto found = map.find(key);
  if (found == map.end()) refuse("holds a map that lacks a key");
  return *found;
}

std::int64_t count(const json& value) {
  if (!value.is_number_integer() || value.get<std::int64_t>() < 0) refuse("holds a map with a count that is none");
  return value.get<std::int64_t>();
}

std::vector<std::int64_t> counts(const json& list, std::size_t most) {
  if (!list.is_array() || list.size() > most) refuse("holds a map with a list that is none, or too long");
  std::vector<std::int64_t> out;
  for (const json& value : list) out.push_back(count(value));
  return out;
}

std::string text(const json& value) {
  if (!value.is_string()) refuse("holds a map with a text that is none");
  return value.get<std::string>();
}

bool flag(const json& value) {
  if (!value.is_boolean()) refuse("holds a map with a flag that is none");
  return value.get<bool>();
}

CellMap map_from(const json& j) {
  if (!j.is_object() || j.size() != kKeys) refuse("holds a map with keys that a map does not have");
  CellMap map;
  map.rank = count(at(j, "rank"));
  map.call = text(at(j, "call"));
  map.output = text(at(j, "output"));
  map.dtype = text(at(j, "dtype"));
  map.caught_in = text(at(j, "caught_in"));
  constexpr std::size_t most_dimensions = 8;
  map.shape = counts(at(j, "shape"), most_dimensions);
  map.off = count(at(j, "off"));
  map.stray_bytes = count(at(j, "stray_bytes"));
  const json& sides = at(j, "stray_sides");
  if (!sides.is_array() || sides.size() != 2) refuse("holds a map with sides that are none");
  map.stray_before = flag(sides[0]);
  map.stray_after = flag(sides[1]);
  map.stray_lines = counts(at(j, "stray_lines"), map_rows);
  const json& lines = at(j, "lines");
  if (!lines.is_array() || lines.size() > map_rows) refuse("holds a map with too many lines");
  for (const json& line : lines) map.lines.push_back(text(line));
  for (const std::string& line : map.lines) {
    const bool right = !line.empty() && line.size() <= map_columns && line.size() == map.lines.front().size() &&
                       line.find_first_not_of(map_marks) == std::string::npos;
    if (!right) refuse("holds a map with a line of other marks or another length");
  }
  const bool beside = std::ranges::all_of(
      map.stray_lines, [&](std::int64_t line) { return line < static_cast<std::int64_t>(map.lines.size()); });
  if (!beside || !std::ranges::is_sorted(map.stray_lines)) refuse("holds a map with padding beside no line");
  return map;
}

}  // namespace

json to_json(const CellMap& map) {
  return {{"rank", map.rank},
          {"call", repaired(map.call)},
          {"output", repaired(map.output)},
          {"dtype", repaired(map.dtype)},
          {"caught_in", repaired(map.caught_in)},
          {"shape", map.shape},
          {"lines", map.lines},
          {"off", map.off},
          {"stray_bytes", map.stray_bytes},
          {"stray_sides", {map.stray_before, map.stray_after}},
          {"stray_lines", map.stray_lines}};
}

std::vector<CellMap> cell_maps_from(const json& list) {
  if (!list.is_array() || list.empty() || list.size() > most_maps) refuse("is not a list of 1 to 16 maps");
  std::vector<CellMap> maps;
  for (const json& map : list) maps.push_back(map_from(map));
  return maps;
}

}  // namespace assay
