// shard.hpp: one judge: the GoogleTest cases (slot x rule) over its units, in this process.
//
// Promises: returns once every selected rule of every unit has its line in the writer. A device that is absent gives
// NO_DECISION lines, never a skip.
#pragma once

#include <vector>

#include "conformance/commands.hpp"
#include "harness/result/writer.hpp"

namespace assay {

// The rules that --rule leaves, in the order in which their failures are read best: what was written, what was read,
// numbers; then relations, streams and graphs, which often fail for the same cause.
[[nodiscard]] std::vector<const RuleSpec*> selected_rules(const Options&);

void run_shard(const Options&, const Candidate&, const std::vector<Unit>&, ResultWriter&);

}  // namespace assay
