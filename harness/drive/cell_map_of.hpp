// cell_map_of.hpp: draws the outputs of the call that a failing judgement names.
//
// Promises: pure; a map for each rank and output of that call, where any rank's is off: the ranks that are right are
// shown beside the others. None where every cell is right and nothing outside the cells was written, as where two
// right results differ. Cells are measured with the run's tolerance, whatever the slot's comparator forgives. Work in
// the order of the cells of the outputs.
// Who calls it: conformance/examiner_failure.cc, for what it shrinks.
//
//   failure.maps = cell_maps_of(seen, judgement);
#pragma once

#include <string>
#include <vector>

#include "assay/rule.hpp"
#include "harness/result/cell_map.hpp"

namespace assay {

[[nodiscard]] std::vector<CellMap> cell_maps_of(const Observation&, const Judgement&);

// After the shrunk trial's maps those of the trial that first failed, as many as a failure may carry: the shrunk one
// may be too small to show a pattern.
void add_caught(std::vector<CellMap>& shrunk, std::vector<CellMap> caught, const std::string& trial);

}  // namespace assay
