// shard.hpp: one judge: the GoogleTest cases (slot x rule) over its units, in this process.
//
// Promises: returns once every selected rule of every unit has its line in the writer. A device that is absent gives
// NO_DECISION lines, never a skip.
#pragma once

#include <vector>

#include "conformance/commands.hpp"
#include "harness/result/writer.hpp"

namespace assay {

void run_shard(const Options&, const Candidate&, const std::vector<Unit>&, ResultWriter&);

}  // namespace assay
