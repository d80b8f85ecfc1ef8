#include "conformance/progress.hpp"

#include <unistd.h>

#include <cstdio>
#include <string>

namespace assay {

Progress::Progress(std::size_t units) : units_(units), terminal_(isatty(STDERR_FILENO)) {}

void Progress::line(const RunResults& results) {
  if (terminal_) {
    if (results.rules.size() == shown_rules_ && results.trials % 64 != 0) return;
    shown_rules_ = results.rules.size();
    std::fprintf(stderr, "\r%zu of %zu units, %zu rules judged, %lld trials, %zu failures ", results.cases.size(), units_,
                 results.rules.size(), static_cast<long long>(results.trials), results.failures.size());
    std::fflush(stderr);
  } else if (results.cases.size() > shown_cases_) {
    shown_cases_ = results.cases.size();
    const Subject& s = results.cases.back().subject;
    const std::string ranks = s.ranks > 1 ? " x" + std::to_string(s.ranks) : "";
    std::fprintf(stderr, "%zu of %zu: %s %s %s%s %s, %lld cases\n", shown_cases_, units_, s.slot.c_str(), s.variant.c_str(),
                 s.device.c_str(), ranks.c_str(), s.dtype.c_str(), static_cast<long long>(results.cases.back().distinct));
  }
}

void Progress::end() {
  if (terminal_) std::fprintf(stderr, "\n");
}

}  // namespace assay
