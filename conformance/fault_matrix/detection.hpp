// detection.hpp: one planted fault against the rule that must catch it, and the right library against all rules.
//
// Promises: a fault counts as caught only where the named rule fails (for verdict.attribution: any rule) with the
// blame that its row demands, the failing trial was shrunk, a fresh worker confirmed it, and it is as small as the row
// says. `miss` says what was wanting. References are loaded once for all faults of a process.
// Does not: say anything of rules that fail beside the named one; faults break more than one rule as a rule.
// Who calls it: conformance/fault_matrix/main.cc.
//
//   Laboratory laboratory({.device = DeviceType::host, .worker = worker_path(), .reference = reference_path()});
//   const Detection d = laboratory.detect(row, "build/faulty/silu_gelu.so");
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "conformance/fault_matrix/fault_row.hpp"

namespace assay {

struct LaboratoryConfig {
  DeviceType device = DeviceType::host;
  int ordinal = 0;
  std::string worker, reference;  // paths of the worker program and of the reference module
  std::uint64_t seed = 0;
};

struct Detection {
  std::string stem, rule, dtype, reason;
  std::string miss;  // empty: caught
  std::int64_t cases_until_caught = 0, shrink_runs = 0;
  double seconds_until_caught = 0;  // from the load on, dtypes in which it was not caught included
  double seconds_until_shrunk = 0;  // the same, to the smallest trial and its confirmation
  std::string trial, confirmed;     // the shrunk trial in one line
  bool minimal = true;              // false: the budget ran out before every smaller trial was tried

  [[nodiscard]] bool caught() const noexcept { return miss.empty(); }
};

// A rule that a right library does not pass.
struct Complaint {
  std::uint64_t seed = 0;
  std::string text;  // slot, dtype, rule, verdict, reason and what was seen
};

class Laboratory {
 public:
  explicit Laboratory(LaboratoryConfig);  // throws DeviceError where the device is absent
  ~Laboratory();

  [[nodiscard]] Detection detect(const FaultRow&, const std::string& library);
  // Every rule on every unit of a right library; empty: all hold.
  [[nodiscard]] std::vector<Complaint> examine_right(const std::string& library, std::uint64_t seed);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace assay
