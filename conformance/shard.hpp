// shard.hpp: one judge: the GoogleTest cases (unit x rule) over the units that it takes, in this process.
//
// Promises: returns once every selected rule of every unit that no other judge took has its line in the writer. Units
// follow each other, and a unit's cases line is its last: what it has said until then is the whole of it. A device that
// is absent gives NO_DECISION lines, never a skip. Into how many parts units are cut depends on the number of judges and
// the tier alone; which judge takes which part, on how fast they are.
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
// alone, and no more, since each part draws all cases. Units whose ranks take turns on a GPU try few cases: they stay
// whole.
[[nodiscard]] int parts_of(std::size_t units, int judges, Tier);
[[nodiscard]] bool take_turns(const std::vector<Unit>&, int first_device);
// How many judges these units keep busy.
[[nodiscard]] int judges_for(std::size_t units, int cores);
// The most judges whose workers MPS takes as clients of one GPU, where it serves it; else as many as there are cores.
[[nodiscard]] int most_judges(const std::vector<Unit>&, int cores);
// All parts of all units, in the order in which one judge asks for them: those of a variant and number of ranks follow
// each other, since another needs other workers, and judges begin far from each other.
[[nodiscard]] std::vector<Unit> in_turn(const std::vector<Unit>&, int judge, int judges, int parts);

// `on_receipt`: given each receipt that was taken, one line.
void run_shard(const Options&, const Candidate&, const std::vector<Unit>&, ResultWriter&,
               std::function<void(const std::string&)> on_receipt);

}  // namespace assay
