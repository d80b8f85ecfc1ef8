// ordeal.hpp: one library of kernels/hostile through a whole `assay check`, and whether what came of it is what
// hostile.tsv demands.
//
// Promises: the run has ended when undergo() returns, and so has everything that it started; it was ended where it took
// longer than the row allows. `miss` says the first thing that was wanting: the program's exit code, a results file
// that is whole and says the same, a failure whose blame the row names and no rule of the hostile variant undecided,
// the other variant's verdict, processes left behind, a folder that is as the run alone would leave it.
// Does not: judge kernels; that is the program's.
// Who calls it: conformance/hostile/main.cc.
//
//   const Ordeal o = undergo(row, {.program = "bin/assay", .library = "hostile/grows.so", .folder = "/tmp/x"});
#pragma once

#include <map>
#include <string>
#include <vector>

#include "harness/result/records.hpp"

namespace assay {

struct HostileRow {
  std::string stem, tries;
  Verdict verdict = Verdict::fail;  // of the run: PASS of the controls that are right
  std::vector<Reason> blame;        // one of which a failing rule must give
  bool spares_bystander = true;     // every rule of the right variant beside it holds; else each has a verdict
  double seconds = 0;               // by when the run must have ended
};

// Reads kernels/hostile/hostile.tsv. Throws BadTable.
[[nodiscard]] std::vector<HostileRow> read_hostile(const std::string& path);

struct OrdealPlan {
  std::string program, library, folder;  // of assay, of the candidate, and a folder that is the ordeal's own
  std::vector<std::string> arguments;    // of `assay check`, after the library
};

struct Ordeal {
  HostileRow row;
  std::string miss;                   // empty: as demanded
  std::string verdict;                // of the run; "ended by signal 9", "did not end"
  std::map<std::string, int> blamed;  // failing rules of the hostile variant, by reason
  std::string first;                  // one of them, with a reason that the row names
  std::string isolation;              // as the run says
  double seconds = 0;
};

[[nodiscard]] Ordeal undergo(const HostileRow&, const OrdealPlan&);
// What a run came to, by the lines that it left; `miss` alone is set from them. Pure.
void judge_results(Ordeal&, const RunResults&);

[[nodiscard]] std::string text_line(const Ordeal&);
// `contrast`: the same libraries without isolation, by stem; may be empty. `what`: command and machine, in a sentence.
[[nodiscard]] std::string markdown_page(const std::vector<Ordeal>&, const std::map<std::string, Ordeal>& contrast,
                                        const std::string& what);

}  // namespace assay
