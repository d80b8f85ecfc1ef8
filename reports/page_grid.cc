#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "reports/outcomes.hpp"
#include "reports/page_parts.hpp"

namespace assay {
namespace {

using nlohmann::json;

struct Sign {
  Verdict verdict;
  const char* glyph;
  const char* word;
};
constexpr std::array<Sign, 8> kSigns{{{Verdict::pass, "\u2713", "pass"},
                                      {Verdict::fail, "\u2717", "FAIL"},
                                      {Verdict::no_decision, "?", "undecided"},
                                      {Verdict::vacuous, "\u25CB", "vacuous: no informative case"},
                                      {Verdict::numerical_pass, "\u2248", "numerical pass"},
                                      {Verdict::waived, "w", "waived"},
                                      {Verdict::unexpected_pass, "w!", "waived, yet passes"},
                                      {Verdict::not_applicable, "\u2013", "not applicable"}}};

const Sign& sign_of(Verdict v) { return *std::ranges::find(kSigns, v, &Sign::verdict); }

// One rule of one place over its dtypes.
struct Cell {
  Verdict verdict = Verdict::not_applicable;
  std::vector<std::string> dtypes, as_bad;
  bool warned = false;
  Subject subject;

  void add(const Outcome& outcome) {
    if (dtypes.empty() || badness(outcome.verdict) > badness(verdict)) {
      verdict = outcome.verdict;
      subject = outcome.subject;
      as_bad.clear();
    }
    if (outcome.verdict == verdict) as_bad.push_back(outcome.subject.dtype);
    dtypes.push_back(outcome.subject.dtype);
    warned = warned || outcome.warned;
  }
  // The dtypes that the verdict is about, where it is not about all.
  [[nodiscard]] std::string only() const {
    return as_bad.size() == dtypes.size() || verdict == Verdict::pass || verdict == Verdict::not_applicable
               ? ""
               : joined(as_bad);
  }
};

struct Grid {
  std::vector<Subject> columns;    // by name
  std::vector<std::string> rules;  // in the order of the file, by group
  std::map<std::string, std::vector<std::optional<Cell>>> cells;
};

Subject place_of(Subject subject) {
  subject.dtype.clear();
  subject.rule.clear();
  return subject;
}

Grid grid_of(const RunResults& results) {
  Grid grid;
  const std::vector<Outcome> outcomes = outcomes_of(results);
  for (const Outcome& outcome : outcomes) {
    const Subject place = place_of(outcome.subject);
    if (std::ranges::find(grid.columns, place) == grid.columns.end()) grid.columns.push_back(place);
    add_new(grid.rules, outcome.subject.rule);
  }
  std::ranges::sort(grid.columns, {}, place_name);
  for (const Outcome& outcome : outcomes) {
    const auto column = std::ranges::find(grid.columns, place_of(outcome.subject)) - grid.columns.begin();
    auto& row = grid.cells[outcome.subject.rule];
    row.resize(grid.columns.size());
    std::optional<Cell>& cell = row[static_cast<std::size_t>(column)];
    if (!cell) cell.emplace();
    cell->add(outcome);
  }
  return grid;
}

std::string group_of(const std::string& rule) { return rule.substr(0, rule.find('.')); }

json cell_part(const std::optional<Cell>& cell, const Groups& groups, const std::optional<Cell>& old) {
  json j = {{"class", "absent"},    {"glyph", ""}, {"word", "not in this run"},
            {"word_class", "said"}, {"href", ""},  {"only", ""},
            {"warned", false},      {"was", ""},   {"was_word", ""}};
  if (old && (!cell || old->verdict != cell->verdict)) {
    j["was"] = sign_of(old->verdict).glyph;
    j["was_word"] = sign_of(old->verdict).word;
  }
  if (!cell) return j;
  const Sign& sign = sign_of(cell->verdict);
  j["class"] = class_of(cell->verdict);
  j["glyph"] = sign.glyph;
  j["word"] = sign.word;
  if (cell->verdict == Verdict::fail) j["word_class"] = "shown";
  if (cell->verdict == Verdict::fail || cell->verdict == Verdict::no_decision)
    j["href"] = failure_id_of(groups, cell->subject);
  j["only"] = cell->only();
  j["warned"] = cell->warned;
  return j;
}

bool anywhere(const std::vector<std::optional<Cell>>& row) {
  return std::ranges::any_of(row, [](const auto& cell) { return cell && cell->verdict != Verdict::not_applicable; });
}

// The earlier run's cell of the same rule and place.
std::optional<Cell> old_cell(const Grid& old, const std::string& rule, const Subject& place) {
  const auto row = old.cells.find(rule);
  const auto column = std::ranges::find(old.columns, place);
  if (row == old.cells.end() || column == old.columns.end()) return std::nullopt;
  return row->second[static_cast<std::size_t>(column - old.columns.begin())];
}

}  // namespace

std::string class_of(Verdict v) {
  std::string name(name_of(v));
  for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return name;
}

json grid_part(const RunResults& results, const Groups& failures, const RunResults* before) {
  const Grid grid = grid_of(results);
  const Grid old = before ? grid_of(*before) : Grid{};
  json columns = json::array();
  for (const Subject& place : grid.columns)
    columns.push_back({{"slot", slot_name(place)}, {"detail", variant_name(place)}});
  json groups = json::array();
  std::vector<std::string> nowhere, names;
  std::vector<Verdict> met;
  for (const std::string& rule : grid.rules) {
    if (anywhere(grid.cells.at(rule))) {
      add_new(names, group_of(rule));
    } else {
      nowhere.push_back(rule);
    }
  }
  for (const std::string& name : names) {
    json rows = json::array();
    for (const std::string& rule : grid.rules) {
      const auto& row = grid.cells.at(rule);
      if (group_of(rule) != name || !anywhere(row)) continue;
      json cells = json::array();
      for (std::size_t i = 0; i < row.size(); ++i) {
        cells.push_back(cell_part(row[i], failures, old_cell(old, rule, grid.columns[i])));
        if (row[i]) met.push_back(row[i]->verdict);
      }
      rows.push_back({{"rule", rule}, {"cells", std::move(cells)}});
    }
    groups.push_back({{"group", name}, {"span", grid.columns.size() + 1}, {"rows", std::move(rows)}});
  }
  json signs = json::array();
  for (const Sign& sign : kSigns)
    if (std::ranges::find(met, sign.verdict) != met.end())
      signs.push_back({{"glyph", sign.glyph}, {"word", sign.word}});
  if (std::ranges::any_of(results.rules, [](const RuleRecord& rule) { return !rule.warnings.empty(); }))
    signs.push_back({{"glyph", "!"}, {"word", "with a warning"}});
  const bool host_graphs = std::ranges::any_of(results.rules, [](const RuleRecord& rule) {
    return rule.subject.device == "host" && rule.subject.rule.starts_with("graph.") && passes_run(rule.verdict);
  });
  constexpr std::size_t few = 5;  // columns whose names lie flat
  return {{"many", grid.columns.size() > few}, {"columns", std::move(columns)}, {"groups", std::move(groups)},
          {"signs", std::move(signs)},         {"nowhere", joined(nowhere)},    {"has_matrix", !grid.rules.empty()},
          {"host_graphs", host_graphs}};
}

json slots_part(const RunResults& results) {
  const Grid grid = grid_of(results);
  json list = json::array();
  for (std::size_t i = 0; i < grid.columns.size(); ++i) {
    std::int64_t passed = 0, failed = 0, undecided = 0, not_applicable = 0;
    for (const auto& [rule, row] : grid.cells) {
      if (!row[i]) continue;
      const Verdict v = row[i]->verdict;
      ++(v == Verdict::not_applicable ? not_applicable : fails_run(v) ? failed : undecides_run(v) ? undecided : passed);
    }
    list.push_back({{"place", place_name(grid.columns[i])},
                    {"passed", passed},
                    {"failed", failed},
                    {"undecided", undecided},
                    {"not_applicable", not_applicable}});
  }
  return list;
}

json notes_part(const RunResults& results) {
  struct Note {
    std::string rule, what, place, text, style;
    std::vector<std::string> dtypes;
    std::size_t more = 0;
  };
  std::vector<Note> notes;
  // One note for all dtypes that say the same; of many warnings of one rule at one place the first.
  const auto note = [&](const Subject& subject, const std::string& what, const std::string& style,
                        const std::string& text, bool any_text) {
    const std::string place = place_name(subject);
    auto at = std::ranges::find_if(notes, [&](const Note& n) {
      return n.rule == subject.rule && n.what == what && n.place == place && (any_text || n.text == text);
    });
    if (at == notes.end()) {
      at = notes.insert(at, {subject.rule, what, place, text, style, {}});
    } else if (any_text) {
      ++at->more;
    }
    add_new(at->dtypes, subject.dtype);
  };
  for (const RuleRecord& rule : results.rules) {
    const bool plain =
        rule.verdict == Verdict::pass || rule.verdict == Verdict::fail || rule.verdict == Verdict::not_applicable;
    std::string what(name_of(rule.verdict));
    if (rule.reason != Reason::none && rule.reason != Reason::vacuous)
      what += " (" + std::string(name_of(rule.reason)) + ")";
    if (!plain) note(rule.subject, what, class_of(rule.verdict), rule.text, false);
    for (const std::string& warning : rule.warnings) note(rule.subject, "warning", "doubt", warning, true);
  }
  json list = json::array();
  for (const Note& n : notes)
    list.push_back({{"rule", n.rule},
                    {"what", n.what},
                    {"class", n.style},
                    {"place", n.place},
                    {"dtypes", joined(n.dtypes)},
                    {"text", n.text + (n.more ? " (and " + std::to_string(n.more) + " more)" : "")}});
  return list;
}

}  // namespace assay
