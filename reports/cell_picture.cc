#include "reports/cell_picture.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace assay {
namespace {

using nlohmann::json;

struct Mark {
  char mark;
  const char* name;  // of its class
  const char* words;
};
constexpr std::array<Mark, 8> kMarks{{{'u', "u", "never written: still what the output was poisoned with"},
                                      {'n', "n", "NaN or infinite"},
                                      {'x', "x", "another index than the reference chose"},
                                      {'4', "4", "off by more than 100 times the tolerance"},
                                      {'3', "3", "off by up to 100 times"},
                                      {'2', "2", "off by up to 10 times"},
                                      {'1', "1", "off by up to twice the tolerance"},
                                      {'.', "right", "right"}}};

constexpr int kBand = 6, kGap = 2;  // of what lies outside the cells

struct Scale {
  int width = 0, height = 0;  // of a square
};
constexpr int kTop = kBand + kGap;

// Small outputs get large squares; a picture is at most 576 by 288.
Scale scale_of(std::size_t across, std::size_t down) {
  constexpr std::size_t wide = 576, high = 240;
  constexpr int least = 6, most = 16;
  const auto fitting = [=](std::size_t room, std::size_t count) {
    return std::clamp(static_cast<int>(room / std::max<std::size_t>(count, 1)), least, most);
  };
  return {fitting(wide, across), fitting(high, down)};
}

std::string box(int x, int y, int width, int height) {
  return "M" + std::to_string(x) + " " + std::to_string(y) + "h" + std::to_string(width) + "v" +
         std::to_string(height) + "h-" + std::to_string(width) + "z";
}

// The squares of one mark, neighbours of a row as one box.
std::string squares(const CellMap& map, char mark, const Scale& scale) {
  std::string d;
  for (std::size_t y = 0; y < map.lines.size(); ++y) {
    const std::string& line = map.lines[y];
    for (std::size_t x = line.find(mark); x != std::string::npos;) {
      const std::size_t end = std::min(line.find_first_not_of(mark, x), line.size());
      d += box(static_cast<int>(x) * scale.width, kTop + static_cast<int>(y) * scale.height,
               static_cast<int>(end - x) * scale.width, scale.height);
      x = line.find(mark, end);
    }
  }
  return d;
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text;
  for (const std::int64_t extent : shape) text += (text.empty() ? "" : " x ") + std::to_string(extent);
  return shape.empty() ? "one cell" : text;
}

std::string counted(std::int64_t n, const std::string& what) {
  return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
}

std::string strays_text(const CellMap& map) {
  if (!map.stray_bytes) return {};
  std::string where;
  const auto add = [&](bool there, const char* text) {
    if (there) where += (where.empty() ? " " : " and ") + std::string(text);
  };
  add(map.stray_before, "before the first");
  add(map.stray_after, "after the last");
  add(!map.stray_lines.empty(), "in the padding of rows");
  return "; " + counted(map.stray_bytes, "byte") + " written outside the cells," + where;
}

// What one square stands for, where that is more than a cell.
std::string square_text(const CellMap& map) {
  if (map.lines.empty() || map.shape.empty()) return {};
  const std::int64_t columns = map.shape.back();
  const std::int64_t cells = std::accumulate(map.shape.begin(), map.shape.end(), std::int64_t{1},
                                             [](std::int64_t a, std::int64_t b) { return b ? a * b : a; });
  const auto across = static_cast<std::int64_t>(map.lines.front().size());
  const auto down = static_cast<std::int64_t>(map.lines.size());
  const std::int64_t rows = columns ? cells / columns : 0;
  if (rows <= down && columns <= across) return {};
  const auto up = [](std::int64_t n, std::int64_t by) { return std::to_string((n + by - 1) / by); };
  return "; a square is up to " + up(rows, down) + " x " + up(columns, across) + " cells and shows the worst";
}

}  // namespace

json cell_picture(const CellMap& map, bool of_several_ranks) {
  const std::size_t across = map.lines.empty() ? 0 : map.lines.front().size();
  const Scale scale = scale_of(across, map.lines.size());
  const int width = static_cast<int>(across) * scale.width;
  const int height = static_cast<int>(map.lines.size()) * scale.height;
  json paths = json::array();
  for (const Mark& mark : kMarks)
    if (std::string d = squares(map, mark.mark, scale); !d.empty())
      paths.push_back({{"mark", mark.name}, {"d", std::move(d)}});
  std::string strays;
  if (map.stray_before) strays += box(0, 0, std::max(width, scale.width), kBand);
  if (map.stray_after) strays += box(0, kTop + height + kGap, std::max(width, scale.width), kBand);
  for (const std::int64_t line : map.stray_lines)
    strays += box(width + kGap, kTop + static_cast<int>(line) * scale.height, 2 * kBand, scale.height);
  if (!strays.empty()) paths.push_back({{"mark", "stray"}, {"d", strays}});
  const std::string off = map.off || !map.stray_bytes ? counted(map.off, "cell") + " off" : "every cell right";
  const std::string rank = of_several_ranks ? ", rank " + std::to_string(map.rank) : "";
  const std::string caption = (map.caught_in.empty() ? "Shrunk trial" : "As first caught") + rank + ", " + map.call +
                              ": " + map.output + " (" + map.dtype + ", " + shape_text(map.shape) + "), " + off +
                              strays_text(map);
  return {{"caption", caption + square_text(map)},
          {"trial", map.caught_in},
          {"spoken", "Picture of the cells. " + caption},
          {"width", std::max(width, scale.width) + kGap + 2 * kBand},
          {"height", height + 2 * kTop},
          {"frame", box(0, kTop, width, height)},
          {"paths", std::move(paths)}};
}

json marks_in(std::span<const CellMap> maps) {
  json marks = json::array();
  const auto any = [&](auto&& holds) { return std::ranges::any_of(maps, holds); };
  if (any([](const CellMap& map) { return map.stray_bytes != 0; }))
    marks.push_back({{"mark", "stray"}, {"words", "written outside the cells"}});
  for (const Mark& mark : kMarks) {
    const auto occurs = [&](const CellMap& map) {
      return std::ranges::any_of(map.lines,
                                 [&](const std::string& line) { return line.find(mark.mark) != std::string::npos; });
    };
    if (any(occurs)) marks.push_back({{"mark", mark.name}, {"words", mark.words}});
  }
  return marks;
}

}  // namespace assay
