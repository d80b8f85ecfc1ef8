// fault_row.hpp: the tables of planted faults, kernels/faulty/faults.tsv and faults_cuda.tsv, as data.
//
// Promises: a row names a registered slot and a registered rule, or verdict.attribution, which any rule may stand for;
// anything else is one sentence with file and line. Not checked here: that the row's library was built.
// Who calls it: the fault matrix and its tests.
//
//   for (const FaultRow& row : read_faults("kernels/faulty/faults.tsv")) std::puts(row.stem.c_str());
#pragma once

#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "assay/tensor.hpp"
#include "harness/result/verdict.hpp"

namespace assay {

class BadTable : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct FaultRow {
  std::string stem;  // of the source and of the library
  DeviceType device = DeviceType::host;
  std::string slot, rule, source, fault;
  std::vector<Reason> blame;                    // source "blame:<reason>[,<reason>]": reasons that the failure may give
  std::map<std::string, std::int64_t> minimal;  // dims of the shrunk case; "history": parts that must come before it

  [[nodiscard]] bool any_rule() const noexcept { return rule == "verdict.attribution"; }
};

// A table of tab-separated columns whose first line names them. Throws BadTable.
[[nodiscard]] std::vector<std::map<std::string, std::string>> read_table(const std::string& path);
[[nodiscard]] std::vector<FaultRow> read_faults(const std::string& path);

}  // namespace assay
