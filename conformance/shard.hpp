// shard.hpp: one judge: the GoogleTest cases (unit x rule) over its units, in this process.
//
// Promises: returns once every selected rule of every unit has its line in the writer. Units follow each other, and a
// unit's cases line is its last: what it has said until then is the whole of it. A device that is absent gives
// NO_DECISION lines, never a skip. How units are shared among judges depends on their number and the tier alone.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "conformance/commands.hpp"
#include "harness/result/writer.hpp"

namespace assay {

// The rules that --rule leaves, in the order in which their failures are read best: what was written, what was read,
// numbers; then relations, streams and graphs, which often fail for the same cause.
[[nodiscard]] std::vector<const RuleSpec*> selected_rules(const Options&);

// Into how many parts every unit's cases are cut: so many that judges have enough to share and a slow unit is not one's
// alone, and no more, since each part draws all cases.
[[nodiscard]] int parts_of(std::size_t units, int judges, Tier);
// How many judges these units keep busy.
[[nodiscard]] int judges_for(std::size_t units, int cores);
// What one judge has: no two parts of a unit, where there are no fewer judges than parts, and as many as the others, give
// or take one.
[[nodiscard]] std::vector<Unit> share_of(const std::vector<Unit>&, int judge, int judges, int parts);

// `on_receipt`: given each receipt that was taken, one line.
void run_shard(const Options&, const Candidate&, const std::vector<Unit>&, ResultWriter&,
               std::function<void(const std::string&)> on_receipt);

}  // namespace assay
