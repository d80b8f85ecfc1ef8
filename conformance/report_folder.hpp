// report_folder.hpp: the folder that a run writes into: made, tried and locked before anything is judged.
//
// Promises: a folder that the run could not finish writing into is refused with one sentence, and one run writes into a
// folder at a time. What an earlier run left as results.jsonl becomes results.previous.jsonl, and its receipts likewise;
// its verdict.json goes: no verdict stands beside results that it is not of.
// Who calls it: check.cc.
#pragma once

#include <string>

#include "harness/device/owned_fd.hpp"

namespace assay {

class ReportFolder {
 public:
  enum class Earlier { aside, kept };  // what becomes of the results that lie there
  // Throws std::runtime_error with one sentence. An empty corpus is none.
  ReportFolder(const std::string& report, const std::string& corpus, Earlier);

  [[nodiscard]] const std::string& results() const noexcept { return results_; }
  [[nodiscard]] const std::string& receipts() const noexcept { return receipts_; }
  [[nodiscard]] const std::string& junit() const noexcept { return junit_; }
  [[nodiscard]] const std::string& verdict() const noexcept { return verdict_; }
  // Throws std::runtime_error where the text did not reach the file.
  void write_junit(const std::string& text) const;
  // verdict.json of the results and receipts as they lie here now: whole, or not there. Returns its digest. Throws
  // std::runtime_error.
  [[nodiscard]] std::string write_verdict() const;

 private:
  std::string results_, receipts_, junit_, verdict_;
  OwnedFd lock_;
};

}  // namespace assay
