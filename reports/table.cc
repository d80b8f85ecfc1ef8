#include "reports/table.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <map>
#include <numeric>
#include <span>
#include <string_view>
#include <vector>

#include "harness/result/failure_table.hpp"
#include "reports/lines.hpp"
#include "reports/outcomes.hpp"

namespace assay {
namespace {

constexpr std::array<std::string_view, 6> kGroups{"write", "input", "number", "relation", "graph", "stream"};

Paint paint_of(Verdict v) {
  if (fails_run(v)) return Paint::bad;
  if (v == Verdict::pass) return Paint::good;
  return v == Verdict::not_applicable ? Paint::faint : Paint::doubt;
}

std::string group_of(const std::string& rule) { return printable(rule.substr(0, rule.find('.'))); }

struct Row {
  std::string name;
  std::map<std::string, std::map<std::string, Verdict>> groups;  // group -> rule -> worst verdict
};

struct Cell {
  std::string text = "-";
  Paint paint = Paint::faint;
};

Cell cell_of(const Row& row, const std::string& group) {
  const auto found = row.groups.find(group);
  if (found == row.groups.end()) return {};
  std::int64_t applicable = 0;
  std::int64_t as_bad = 0;
  Verdict worst = Verdict::not_applicable;
  for (const auto& [rule, verdict] : found->second) {
    applicable += verdict != Verdict::not_applicable;
    if (badness(verdict) > badness(worst)) {
      worst = verdict;
      as_bad = 0;
    }
    as_bad += verdict == worst;
  }
  Cell cell{std::string(name_of(worst)), paint_of(worst)};
  if (worst == Verdict::not_applicable) cell.text = "N/A";
  if (worst == Verdict::pass) cell.text += " " + std::to_string(applicable);
  if (worst == Verdict::fail) cell.text += " " + std::to_string(as_bad) + "/" + std::to_string(applicable);
  return cell;
}

std::string row_name(const Subject& s) { return shortened(printable(place_name(s)), report_columns); }

std::vector<Row> rows_of(const RunResults& results) {
  std::vector<Row> rows;
  std::vector<Subject> keys;
  const auto enter = [&](const Subject& subject, Verdict verdict) {
    Subject key = subject;
    key.dtype.clear();
    key.rule.clear();
    const auto at = static_cast<std::size_t>(std::ranges::find(keys, key) - keys.begin());
    if (at == keys.size()) {
      keys.push_back(key);
      rows.push_back({row_name(key), {}});
    }
    const auto [entry, fresh] = rows[at].groups[group_of(subject.rule)].try_emplace(subject.rule, verdict);
    if (!fresh && badness(verdict) > badness(entry->second)) entry->second = verdict;
  };
  for (const Outcome& outcome : outcomes_of(results)) enter(outcome.subject, outcome.verdict);
  return rows;
}

struct Column {
  std::string group;
  std::size_t width = 0;
  std::vector<Cell> cells;  // by row
};

std::vector<Column> columns_for(const std::vector<Row>& rows) {
  std::vector<Column> columns;
  for (const std::string_view group : kGroups) columns.push_back({std::string(group), 0, {}});
  // Groups that few slots have (prepare, collective) only where a row has something to say.
  for (const Row& row : rows) {
    for (const auto& [group, rules] : row.groups) {
      const auto same = [&, &name = group](const Column& column) { return column.group == name; };
      const auto says = [](const auto& rule) { return rule.second != Verdict::not_applicable; };
      if (std::ranges::none_of(columns, same) && std::ranges::any_of(rules, says)) columns.push_back({group, 0, {}});
    }
  }
  for (Column& column : columns) {
    column.width = columns_of(column.group);
    for (const Row& row : rows) {
      column.cells.push_back(cell_of(row, column.group));
      column.width = std::max(column.width, column.cells.back().text.size());
    }
  }
  return columns;
}

std::string trimmed(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line + '\n';
}

std::string line_of_cells(std::string line, std::span<const Column> columns, std::size_t row, bool colour) {
  for (const Column& column : columns) {
    const Cell& cell = column.cells[row];
    line += "  " + painted(cell.text, cell.paint, colour) + std::string(column.width - cell.text.size(), ' ');
  }
  return trimmed(line);
}

// Names on the left where there is room, else on lines of their own; columns that do not fit follow in a table below.
std::string grid(const std::vector<Row>& rows, bool colour) {
  const std::vector<Column> columns = columns_for(rows);
  std::size_t name_width = 0;
  for (const Row& row : rows) name_width = std::max(name_width, columns_of(row.name));
  const auto width_of = [](std::span<const Column> some) {
    return std::accumulate(some.begin(), some.end(), std::size_t{0},
                           [](std::size_t sum, const Column& column) { return sum + 2 + column.width; });
  };
  const bool beside = name_width + width_of(columns) <= report_columns;
  std::string out;
  for (std::span<const Column> rest(columns); !rest.empty();) {
    std::size_t take = rest.size();
    while (!beside && take > 1 && width_of(rest.first(take)) > report_columns) --take;
    const std::span<const Column> shown = rest.first(take);
    rest = rest.subspan(take);
    std::string head(beside ? name_width : 0, ' ');
    for (const Column& column : shown) head += "  " + padded(column.group, column.width);
    out += trimmed(head);
    for (std::size_t row = 0; row < rows.size(); ++row) {
      if (!beside) out += rows[row].name + '\n';
      out += line_of_cells(beside ? padded(rows[row].name, name_width) : std::string(), shown, row, colour);
    }
  }
  return out;
}

// One note for all dtypes that say the same.
class Notes {
 public:
  void add(std::string head, const Subject& subject, const std::string& text) {
    const auto same = [&](const Note& n) {
      return n.head == head && n.rule == subject.rule && n.where == row_name(subject) && n.text == text;
    };
    auto at = std::ranges::find_if(notes_, same);
    if (at == notes_.end()) {
      notes_.push_back({std::move(head), subject.rule, row_name(subject), {}, text});
      at = notes_.end() - 1;
    }
    if (!subject.dtype.empty()) at->dtypes += (at->dtypes.empty() ? " " : ", ") + subject.dtype;
  }
  // Of many warnings of one rule about one variant the first is shown, and how many more there are.
  void warn(const Subject& subject, const std::vector<std::string>& warnings) {
    if (warnings.empty()) return;
    const auto same = [&](const Note& n) {
      return n.head == kWarning && n.rule == subject.rule && n.where == row_name(subject);
    };
    auto at = std::ranges::find_if(notes_, same);
    if (at == notes_.end()) {
      add(std::string(kWarning), subject, warnings.front());
      notes_.back().more = warnings.size() - 1;
      return;
    }
    at->more += warnings.size();
    if (!subject.dtype.empty()) at->dtypes += (at->dtypes.empty() ? " " : ", ") + subject.dtype;
  }
  [[nodiscard]] std::string text() const {
    std::string out;
    for (const Note& n : notes_) {
      out += wrapped("  ", n.head + "  " + printable(n.rule + ", " + n.where + n.dtypes) +
                               (n.text.empty() ? "" : ": " + printable(n.text)) +
                               (n.more ? " (and " + std::to_string(n.more) + " more)" : ""));
    }
    return out;
  }

 private:
  struct Note {
    std::string head, rule, where, dtypes, text;
    std::size_t more = 0;
  };
  static constexpr std::string_view kWarning = "warning";
  std::vector<Note> notes_;
};

std::string notes_of(const RunResults& results) {
  Notes notes;
  bool host_graphs = false;
  for (const RuleRecord& rule : results.rules) {
    const bool plain =
        rule.verdict == Verdict::pass || rule.verdict == Verdict::fail || rule.verdict == Verdict::not_applicable;
    std::string head(name_of(rule.verdict));
    if (rule.verdict == Verdict::no_decision)
      head += " (" + std::string(name_of(rule.reason)) + ", " +
              std::string(name_of(attribution_of(rule.verdict, rule.reason))) + ")";
    else if (rule.reason != Reason::none && rule.reason != Reason::vacuous)
      head += " (" + std::string(name_of(rule.reason)) + ")";
    if (!plain) notes.add(head, rule.subject, rule.text);
    notes.warn(rule.subject, rule.warnings);
    host_graphs |= rule.subject.device == "host" && rule.subject.rule.starts_with("graph.") && passes_run(rule.verdict);
  }
  std::string out = notes.text();
  if (host_graphs) out += "  graph results on host come from the host model: no proof for a GPU\n";
  return out;
}

std::string counted(std::int64_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::string counts_of(const RunResults& results) {
  std::int64_t distinct = 0;
  std::int64_t outside = 0;
  for (const CasesRecord& cases : results.cases) {
    distinct += cases.distinct;
    outside += cases.outside_domain;
  }
  std::string out = counted(distinct, "distinct case");
  if (outside) out += " (" + std::to_string(outside) + " outside the declared domain)";
  out += ", " + counted(results.trials, "trial");
  if (results.has_end) {
    std::array<char, 48> seconds{};
    std::snprintf(seconds.data(), seconds.size(), ", %.1f s", results.end.seconds);
    out += seconds.data();
  }
  return out;
}

std::string head_of(const RunRecord& run) {
  std::string out = wrapped("assay " + printable(run.assay_version) + ": ",
                            printable(run.library_name + " " + run.library_version + " (" + run.library + "), tier " +
                                      run.tier + ", seed " + std::to_string(run.seed) + ", " +
                                      run.isolation.substr(0, run.isolation.find(':'))));
  for (const std::string& device : run.devices) out += wrapped("  ", printable(device));
  return out;
}

}  // namespace

std::string table(const RunResults& results, bool colour) {
  std::string out;
  if (results.has_run) out += head_of(results.run) + '\n';
  const std::vector<Row> rows = rows_of(results);
  if (!rows.empty()) {
    out += grid(rows, colour) + '\n';
    if (const std::string notes = notes_of(results); !notes.empty()) out += notes + '\n';
  }
  if (results.has_run) out += counts_of(results) + '\n';
  const EndRecord end = conclude(results);
  const Paint paint = end.verdict == "PASS" ? Paint::good : end.verdict == "FAIL" ? Paint::bad : Paint::doubt;
  std::string verdict = wrapped("", printable(end.verdict + " (exit " + std::to_string(end.exit_code) + ")" +
                                              (end.why.empty() ? "" : ": " + end.why)));
  // Painted after wrapping, since escapes have no width.
  verdict.replace(0, end.verdict.size(), painted(end.verdict, paint, colour));
  return out + verdict;
}

}  // namespace assay
