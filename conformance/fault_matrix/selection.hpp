// selection.hpp: which rows of a table of libraries a program takes, and on which device.
//
// Promises: --stems and --shard mean the same in assay_fault_matrix and assay_hostile; a name that the table does not
// have, or a shard that is none, is one sentence. Who calls it: their main.cc.
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

struct Selection {
  std::string device = "host";
  std::vector<std::string> stems;     // empty: all
  std::size_t part = 0, parts = 1;    // every parts-th, from the part-th on

  [[nodiscard]] bool takes(std::size_t index) const { return index % parts == part; }
  // The rows with these stems, of the shard. `path` is for the sentence. Throws BadTable.
  template <class Row>
  [[nodiscard]] std::vector<Row> of(const std::vector<Row>& rows, const std::string& path) const {
    for (const std::string& stem : stems)
      if (std::none_of(rows.begin(), rows.end(), [&](const Row& row) { return row.stem == stem; }))
        throw BadTable("no library is called " + stem + "; " + path + " names them");
    std::vector<Row> taken;
    std::size_t index = 0;
    for (const Row& row : rows)
      if (stems.empty() || std::find(stems.begin(), stems.end(), row.stem) != stems.end())
        if (takes(index++)) taken.push_back(row);
    return taken;
  }
};

void add_options(CLI::App&, Selection&);
// The library of a row. Throws BadTable where it was not built: `target` builds it.
[[nodiscard]] std::string library_of(const std::string& folder, const std::string& stem, const std::string& target);
// Whether the device is there; says on stderr why not.
[[nodiscard]] bool has_device(const Selection&, const char* program);

}  // namespace assay
