// reference_kit_test.hpp: a reference's sources, and references run on the judge's side of a bench.
//
// Who uses it: tests of this folder.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <regex>
#include <string>
#include <vector>

#include "conformance/targets/registered_parts_test.hpp"
#include "harness/drive/bench.hpp"

namespace assay::parts {

using Sources = std::map<std::string, std::string>;  // by path from the root

inline std::vector<std::string> includes_of(const std::string& text) {
  static const std::regex include(R"(^[ \t]*#[ \t]*include[ \t]*["<]([^">]*)[">])", std::regex::multiline);
  std::vector<std::string> list;
  for (auto it = std::sregex_iterator(text.begin(), text.end(), include); it != std::sregex_iterator(); ++it)
    list.push_back((*it)[1]);
  return list;
}

// A reference's own file, and ours that it includes, each with the .cc beside it.
inline Sources sources_of(const SlotSpec& slot) {
  const std::string symbol = slot.reference.symbol ? slot.reference.symbol : "";
  const std::string prefix = "assay_reference_";
  if (symbol.rfind(prefix, 0) != 0) return {};
  Sources all;
  std::vector<std::string> todo = {"reference/" + symbol.substr(prefix.size()) + ".cc"};
  while (!todo.empty()) {
    const std::string path = todo.back();
    todo.pop_back();
    const std::string text = contents(ASSAY_ROOT "/" + path);
    if (text.empty() || !all.emplace(path, text).second) continue;
    for (const std::string& included : includes_of(text)) {
      if (included.rfind("reference/", 0) != 0 && included.rfind("harness/", 0) != 0) continue;
      todo.push_back(included);
      if (included.ends_with(".hpp")) todo.push_back(included.substr(0, included.size() - 3) + "cc");
    }
  }
  return all;
}

// References on the judge's side of a bench.
class Oracle {
 public:
  ReferenceResult run(const SlotSpec& slot, const Case& c) { return *run(slot, c, {}); }
  // Of a changed call; nothing where there is nothing to change.
  std::optional<ReferenceResult> run(const SlotSpec& slot, const Case& c,
                                     const std::function<bool(const Case&, ReferenceCall&)>& change) {
    bench_.use(slot, VariantInfo{});
    header_.trial.part.cases = {c};
    bench_.begin_trial(header_);
    ReferenceCall call = bench_.reference_call(bench_.bind(c));
    if (change && !change(c, call)) return std::nullopt;
    ReferenceResult result;
    references_.find(slot.reference)(call, result);
    return result;
  }

 private:
  Observation header_;
  std::unique_ptr<MemoryDomain> memory_ = make_host_memory();
  ReferenceModule references_{ASSAY_REFERENCES};
  Bench bench_{BenchConfig{}, *memory_, references_};
};

inline Oracle& oracle() {
  static Oracle one;
  return one;
}

}  // namespace assay::parts
