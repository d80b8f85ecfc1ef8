// supervisor.hpp: the trusted parent of one confined worker, a mode of our own worker program.
//
// Promises: the worker runs under what its Confinement says, or not at all: a sentence on standard error and exit
// status 70. The supervisor ends as the worker ended, by the same status or the same signal, once nothing that the
// worker started is left. SIGTERM ends all of it; so does the judge's death. A killed supervisor takes its namespaces
// with it.
// Never of a program that holds a candidate: its static initialisers would run with the judge's privileges.
// Who calls it: worker.cc, for the word kSuperviseWord.
#pragma once

namespace assay {

[[noreturn]] void supervise(int argc, char** argv);

}  // namespace assay
