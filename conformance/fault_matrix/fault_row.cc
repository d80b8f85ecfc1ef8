#include "conformance/fault_matrix/fault_row.hpp"

#include <charconv>
#include <fstream>
#include <set>
#include <sstream>

#include "assay/rule.hpp"

namespace assay {
namespace {

std::vector<std::string> split(const std::string& line, char separator) {
  std::vector<std::string> parts(1);
  for (const char c : line)
    if (c == separator)
      parts.emplace_back();
    else
      parts.back() += c;
  return parts;
}

std::map<std::string, std::int64_t> minimal_from(const std::string& text, const std::string& where) {
  std::map<std::string, std::int64_t> minimal;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const auto equals = word.find('=');
    std::int64_t value = 0;
    const char* end = word.data() + word.size();
    if (equals == std::string::npos || std::from_chars(word.data() + equals + 1, end, value).ptr != end)
      throw BadTable(where + ": '" + word + "' in minimal is not dim=number");
    minimal[word.substr(0, equals)] = value;
  }
  return minimal;
}

}  // namespace

std::vector<std::map<std::string, std::string>> read_table(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) throw BadTable("cannot read the table " + path);
  const std::vector<std::string> names = split(line, '\t');
  std::vector<std::map<std::string, std::string>> rows;
  for (int number = 2; std::getline(file, line); ++number) {
    const std::vector<std::string> cells = split(line, '\t');
    if (cells.size() != names.size())
      throw BadTable(path + ":" + std::to_string(number) + ": " + std::to_string(cells.size()) + " columns where " +
                     std::to_string(names.size()) + " are named");
    auto& row = rows.emplace_back();
    for (std::size_t i = 0; i < names.size(); ++i) row[names[i]] = cells[i];
  }
  return rows;
}

std::vector<FaultRow> read_faults(const std::string& path) {
  std::vector<FaultRow> faults;
  std::set<std::pair<std::string, std::string>> known;
  int number = 1;
  for (const auto& cells : read_table(path)) {
    const std::string where = path + ":" + std::to_string(++number);
    const auto cell = [&](const char* name) {
      const auto at = cells.find(name);
      if (at == cells.end()) throw BadTable(path + ": no column " + name);
      return at->second;
    };
    FaultRow row;
    row.stem = cell("stem");
    row.slot = cell("slot");
    row.rule = cell("rule");
    row.source = cell("source");
    row.fault = cell("fault");
    if (!known.emplace(row.stem, row.rule).second)
      throw BadTable(where + ": " + row.stem + " is there twice for " + row.rule);
    if (!find_slot(row.slot)) throw BadTable(where + ": no such slot: " + row.slot);
    if (!row.any_rule() && !find_rule(row.rule)) throw BadTable(where + ": no such rule: " + row.rule);
    try {
      row.device = device_from(cell("device"));
      constexpr std::string_view blame = "blame:";
      if (row.source.rfind(blame, 0) == 0)
        for (const std::string& reason : split(row.source.substr(blame.size()), ','))
          row.blame.push_back(reason_from(reason));
    } catch (const std::invalid_argument& error) {
      throw BadTable(where + ": " + error.what());
    }
    if (row.any_rule() && row.blame.empty())
      throw BadTable(where + ": verdict.attribution needs a source of blame:<reason>");
    if (const auto at = cells.find("minimal"); at != cells.end()) row.minimal = minimal_from(at->second, where);
    faults.push_back(std::move(row));
  }
  return faults;
}

}  // namespace assay
