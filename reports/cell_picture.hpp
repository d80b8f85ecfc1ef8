// reports/cell_picture.hpp: a CellMap as the parts of an SVG: one path a mark, and words for it.
//
// Promises: a line of the map is a row of squares; what was written outside the cells is a band on its side. Marks
// differ in pattern or lightness, not in hue alone. Size follows from the map's bounds.
// Who calls it: page_failures.cc.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "harness/result/cell_map.hpp"

namespace assay {

// {caption, trial, spoken, width, height, frame, paths: [{mark, d}]}
[[nodiscard]] nlohmann::json cell_picture(const CellMap&, bool of_several_ranks);

// The key of some pictures: [{mark, words}] of the marks that occur in them, worst first.
[[nodiscard]] nlohmann::json marks_in(std::span<const CellMap>);

}  // namespace assay
