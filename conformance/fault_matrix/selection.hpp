// selection.hpp: which rows of a table of libraries a program takes, and on which device.
//
// Promises: --stems and --shard mean the same in assay_fault_matrix and assay_hostile; a name that the table does not
// have, or a shard that is none, is one sentence (BadTable). Who calls it: their main.cc.
//
//   Selection s; add_options(app, s); ... for (const FaultRow& row : s.of(read_faults(table), table)) ...
#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <vector>

#include "conformance/fault_matrix/fault_row.hpp"

namespace assay {

inline constexpr int kAbsentExit = 77;  // the device is absent: CTest then names the test as skipped

class Selection {
 public:
  std::string device = "host";

  // Every n-th of a sequence, from the i-th on, of "i/n". Throws BadTable.
  [[nodiscard]] bool takes(std::size_t index) const;
  // The rows with these stems, or all, of the shard. `path` is for the sentence. Throws BadTable.
  template <class Row>
  [[nodiscard]] std::vector<Row> of(const std::vector<Row>& rows, const std::string& path) const {
    for (const std::string& stem : stems_)
      if (std::none_of(rows.begin(), rows.end(), [&](const Row& row) { return row.stem == stem; }))
        throw BadTable("no library is called " + stem + "; " + path + " names them");
    std::vector<Row> taken;
    std::size_t index = 0;
    for (const Row& row : rows)
      if (stems_.empty() || std::find(stems_.begin(), stems_.end(), row.stem) != stems_.end())
        if (takes(index++)) taken.push_back(row);
    return taken;
  }

 private:
  friend void add_options(CLI::App&, Selection&);
  std::vector<std::string> stems_;
  std::string shard_ = "0/1";
};

void add_options(CLI::App&, Selection&);
// The library of a row. Throws BadTable where it was not built: `target` builds it.
[[nodiscard]] std::string library_of(const std::string& folder, const std::string& stem, const std::string& target);
// Whether the device is there; says on stderr why not.
[[nodiscard]] bool has_device(const Selection&, const char* program);

}  // namespace assay
