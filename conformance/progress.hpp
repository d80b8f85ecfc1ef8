// progress.hpp: what a person sees while a run goes on: one moving line on a terminal, a line a finished unit elsewhere.
#pragma once

#include <cstddef>

#include "harness/result/records.hpp"

namespace assay {

class Progress {
 public:
  explicit Progress(std::size_t units);
  void line(const RunResults&);  // after each line that was added
  void end();

 private:
  std::size_t units_, shown_cases_ = 0, shown_rules_ = 0;
  bool terminal_;
};

}  // namespace assay
