#include "harness/drive/cell_map_of.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "harness/compare/output.hpp"
#include "harness/drive/requested_layout.hpp"

namespace assay {
namespace {

// Whether output `at` of a call is one of indices, and then which ones the reference chose for each row.
const Selection* selection_of(const CallSeen& call, std::size_t at) {
  if (!call.reference || at >= call.reference->outputs.size()) return nullptr;
  return call.reference->outputs[at].selection.get();
}

class Grader {
 public:
  Grader(const Observation& seen, const CallSeen& call, std::size_t at)
      : out_(call.outputs[at]), tolerance_(tolerance_for(call.c.dtype)), selection_(selection_of(call, at)) {
    if (call.reference && at < call.reference->outputs.size()) {
      const Expected& e = call.reference->outputs[at];
      if (e.expected.size() == out_.actual.size()) expected_ = e.expected.values<double>();
      const Comparator mode = seen.slot->comparing(call.c);
      explained_ = mode.explained;
      if (explained_ > 0 && e.magnitude.size() == out_.actual.size()) magnitude_ = e.magnitude.values<double>();
    }
    poisoned_.assign(out_.poison.cells.begin(), out_.poison.cells.end());
    std::ranges::sort(poisoned_);
    const Extents& shape = out_.actual.view().shape;
    columns_ = shape.empty() ? 1 : std::max<std::int64_t>(1, shape.back());
  }

  [[nodiscard]] char mark(std::int64_t cell) const {
    if (std::ranges::binary_search(poisoned_, cell)) return 'u';
    if (expected_.empty()) return '.';
    const TensorView& view = out_.actual.view();
    const double actual = value_at(view.data, view.dtype, cell);
    if (selection_) return chosen(cell, actual) ? '.' : 'x';
    const double expected = expected_[static_cast<std::size_t>(cell)];
    if (actual == expected) return '.';  // invisible scores are -inf on both sides
    if (!std::isfinite(actual)) return 'n';
    double bound = tolerance_.atol + tolerance_.rtol * std::fabs(expected);
    if (!magnitude_.empty()) bound = std::max(bound, explained_ * magnitude_[static_cast<std::size_t>(cell)]);
    const double excess = std::fabs(actual - expected) / bound;
    constexpr double little = 2, more = 10, much = 100;
    return excess <= 1 ? '.' : excess <= little ? '1' : excess <= more ? '2' : excess <= much ? '3' : '4';
  }

 private:
  // Order within a row does not matter.
  [[nodiscard]] bool chosen(std::int64_t cell, double actual) const {
    const auto row =
        expected_.subspan(static_cast<std::size_t>(cell / columns_ * columns_), static_cast<std::size_t>(columns_));
    return std::ranges::find(row, actual) != row.end();
  }

  const OutputSeen& out_;
  Tolerance tolerance_;
  const Selection* selection_;
  std::span<const double> expected_, magnitude_;
  double explained_ = 0;
  std::vector<std::int64_t> poisoned_;
  std::int64_t columns_ = 1;
};

// Blocks of equal size, give or take one: block of item i of n in `blocks`.
std::size_t block_of(std::int64_t i, std::int64_t n, std::size_t blocks) {
  return static_cast<std::size_t>(i * static_cast<std::int64_t>(blocks) / n);
}

// Sides of the cells on which bytes were written, and beside which lines where the layout says.
void mark_strays(CellMap& map, const Observation& seen, const CallSeen& call, const OutputSeen& out) {
  map.stray_bytes = static_cast<std::int64_t>(out.canary.changed);
  std::set<std::int64_t> lines;
  const Case& c = call.c;
  const bool placed = !c.far && seen.trial.part.drive != Drive::guard_pages;  // else laid out in another way
  const Box box = placed ? lay_out(request_of(*seen.slot, *out.spec, c)) : Box{};
  const std::int64_t columns = map.shape.empty() ? 1 : map.shape.back();
  const std::int64_t rows = columns ? element_count(map.shape) / columns : 0;
  for (const CanaryHit& hit : out.canary.first) {
    map.stray_before = map.stray_before || hit.band == Band::before;
    map.stray_after = map.stray_after || hit.band == Band::after;
    if (hit.band != Band::padding || map.lines.empty()) continue;
    if (!placed || box.strides.size() < 2 || hit.offset < box.cell0_bytes) {
      for (std::size_t i = 0; i < map.lines.size(); ++i) lines.insert(static_cast<std::int64_t>(i));
      continue;
    }
    const auto pitch = static_cast<std::uint64_t>(box.strides[box.strides.size() - 2]) * size_of(box.dtype);
    const auto row = static_cast<std::int64_t>((hit.offset - box.cell0_bytes) / pitch);
    lines.insert(static_cast<std::int64_t>(block_of(std::min(row, rows - 1), rows, map.lines.size())));
  }
  map.stray_lines.assign(lines.begin(), lines.end());
}

CellMap map_of(const Observation& seen, const CallSeen& call, std::size_t at) {
  const OutputSeen& out = call.outputs[at];
  CellMap map;
  map.rank = seen.rank;
  map.call = call.label;
  map.output = out.spec->name;
  map.dtype = name_of(out.actual.view().dtype);
  map.shape = out.actual.view().shape;
  const std::int64_t columns = map.shape.empty() ? 1 : map.shape.back();
  const std::int64_t rows = columns ? out.actual.size() / columns : 0;
  const std::size_t across = std::min<std::size_t>(map_columns, static_cast<std::size_t>(columns));
  if (rows) map.lines.assign(std::min<std::size_t>(map_rows, static_cast<std::size_t>(rows)), std::string(across, '.'));
  const Grader grader(seen, call, at);
  for (std::int64_t row = 0; row < rows; ++row) {
    std::string& line = map.lines[block_of(row, rows, map.lines.size())];
    for (std::int64_t column = 0; column < columns; ++column) {
      const char mark = grader.mark(row * columns + column);
      if (mark == '.') continue;
      ++map.off;
      char& shown = line[block_of(column, columns, across)];
      if (map_marks.find(mark) > map_marks.find(shown)) shown = mark;
    }
  }
  mark_strays(map, seen, call, out);
  return map;
}

// "replay 2, rank 1" is the call "replay 2".
bool names(const std::string& label, const CallSeen& call) {
  return label == call.label || label.rfind(call.label + ", rank ", 0) == 0;
}

std::vector<CellMap> maps_of_call(const Observation& seen, std::size_t number) {
  std::vector<CellMap> all;
  std::set<std::string> off;
  const auto draw = [&](const Observation& rank) {
    if (number >= rank.calls.size()) return;
    const CallSeen& call = rank.calls[number];
    for (std::size_t at = 0; at < call.outputs.size(); ++at) {
      all.push_back(map_of(rank, call, at));
      if (all.back().off || all.back().stray_bytes) off.insert(all.back().output);
    }
  };
  draw(seen);
  for (const Observation& other : seen.others) draw(other);
  std::erase_if(all, [&](const CellMap& map) { return !off.contains(map.output); });
  if (all.size() > most_maps) all.resize(most_maps);
  return all;
}

}  // namespace

std::vector<CellMap> cell_maps_of(const Observation& seen, const Judgement& judgement) {
  if (judgement.verdict != Verdict::fail) return {};
  // The call that the judgement names; where that one is right, or none is named, the first that is not.
  for (const bool named : {true, false})
    for (std::size_t number = 0; number < seen.calls.size(); ++number) {
      if (named != names(judgement.label, seen.calls[number])) continue;
      if (std::vector<CellMap> maps = maps_of_call(seen, number); !maps.empty()) return maps;
    }
  return {};
}

void add_caught(std::vector<CellMap>& shrunk, std::vector<CellMap> caught, const std::string& trial) {
  for (CellMap& map : caught) {
    if (shrunk.size() == most_maps) return;
    map.caught_in = trial;
    shrunk.push_back(std::move(map));
  }
}

}  // namespace assay
