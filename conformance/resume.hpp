// resume.hpp: what `assay check --resume DIR` goes on with.
//
// Promises: a unit is finished once its cases line is written, which follows all of its rule lines; finished units are
// not run again, all others from their start. The options are those of the run that lies in the folder, and a run of
// another library, program, machine or set of options is refused with one sentence that says what differs.
// Who calls it: check.cc. The form of the resume line: harness/result/README.md.
#pragma once

#include "conformance/commands.hpp"
#include "harness/result/records.hpp"

namespace assay {

struct Resumption {
  Options options;      // of the run, reporting into the folder again
  bool begins = false;  // there is no run yet, and the caller named a library
  bool ended = false;   // nothing is left to do
};

// Throws std::runtime_error with one sentence: no run to go on with, results that are not a run's, other options.
[[nodiscard]] Resumption resumption_of(const Options& given);

// Empty, or why the run that `before` began cannot be gone on with as `now` would begin it.
[[nodiscard]] std::string differs(const RunRecord& before, const RunRecord& now);

[[nodiscard]] bool is_finished(const RunResults&, const Unit&);

}  // namespace assay
