#include "harness/result/waivers.hpp"

#define TOML_MAX_NESTED_VALUES 32
#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <iterator>

#include "harness/case/json.hpp"

namespace assay {
namespace {

constexpr std::size_t kMostBytes = 1u << 20;

std::string at(const std::string& name, const toml::source_region& where) {
  return name + ", line " + std::to_string(where.begin.line) + ": ";
}

class Row {
 public:
  Row(const toml::table& table, std::string name) : table_(table), name_(std::move(name)) {}

  std::string text(const char* key) {
    const toml::node* node = table_.get(key);
    if (!node) refuse(table_, std::string("the waiver lacks its ") + key);
    const auto* value = node->as_string();
    if (!value || value->get().empty()) refuse(*node, std::string(key) + " is not text, or empty");
    return value->get();
  }
  Reason reason() {
    const std::string name = text("reason");
    Reason reason = Reason::none;
    try {
      reason = reason_from(name);
    } catch (const std::invalid_argument&) {
      refuse(*table_.get("reason"), "reason is no reason of a failure: " + shown(name));
    }
    if (!fails_run(verdict_of(reason)))
      refuse(*table_.get("reason"), "reason " + name + " is not a failure: nothing to waive");
    return reason;
  }
  std::string tracker() {
    const std::string link = text("tracker");
    if (link.rfind("https://", 0) != 0 && link.rfind("http://", 0) != 0)
      refuse(*table_.get("tracker"), "tracker is no link: write https://...");
    return link;
  }
  std::string day(const char* key) {
    const toml::node* node = table_.get(key);
    if (!node) refuse(table_, std::string("the waiver lacks its ") + key);
    const auto* date = node->as_date();
    if (!date) refuse(*node, std::string(key) + " is not a date: write 2026-12-31, without quotes");
    std::array<char, 24> text{};
    std::snprintf(text.data(), text.size(), "%04d-%02d-%02d", static_cast<int>(date->get().year),
                  static_cast<int>(date->get().month), static_cast<int>(date->get().day));
    return text.data();
  }
  void nothing_else() const {
    constexpr std::array<std::string_view, 7> known{"rule", "slot", "variant", "reason", "owner", "tracker", "expires"};
    for (const auto& [key, node] : table_)
      if (std::find(known.begin(), known.end(), key.str()) == known.end())
        refuse(node, "a waiver has no field " + shown(key.str()));
  }

 private:
  [[noreturn]] void refuse(const toml::node& where, const std::string& what) const {
    throw WaiverError(at(name_, where.source()) + what);
  }
  const toml::table& table_;
  std::string name_;
};

bool same_place(const Waiver& w, const Subject& s) {
  return w.rule == s.rule && w.slot == s.slot && w.variant == s.variant;
}

}  // namespace

Waivers Waivers::parse(std::string_view text, const std::string& name, const std::string& today) {
  Waivers waivers;
  waivers.name_ = name;
  waivers.today_ = today;
  toml::table root;
  try {
    root = toml::parse(text);
  } catch (const toml::parse_error& error) {
    throw WaiverError(at(name, error.source()) + std::string(error.description()));
  }
  for (const auto& [key, node] : root) {
    const auto refuse = [&, &node = node](const std::string& what) {
      throw WaiverError(at(name, node.source()) + what);
    };
    if (key != "waiver") refuse("the file has no field " + shown(key.str()) + "; each waiver is a [[waiver]]");
    const auto* list = node.as_array();
    if (!list) refuse("waiver is not a list: write [[waiver]]");
    for (const toml::node& item : *list) {
      const auto* table = item.as_table();
      if (!table)
        throw WaiverError(at(name, item.source()) + "waiver holds something that is no table: write [[waiver]]");
      Row row(*table, name);
      Waiver w;
      w.rule = row.text("rule");
      w.slot = row.text("slot");
      w.variant = row.text("variant");
      w.reason = row.reason();
      w.owner = row.text("owner");
      w.tracker = row.tracker();
      w.expires = row.day("expires");
      w.line = static_cast<int>(table->source().begin.line);
      row.nothing_else();
      for (const Waiver& other : waivers.waivers_)
        if (other.rule == w.rule && other.slot == w.slot && other.variant == w.variant && other.reason == w.reason)
          throw WaiverError(at(name, table->source()) + "rule " + shown(w.rule) +
                            " is waived for the same reason in line " + std::to_string(other.line));
      waivers.waivers_.push_back(std::move(w));
    }
  }
  return waivers;
}

Waivers Waivers::read(const std::string& path, const std::string& today) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw WaiverError("cannot read the waivers " + path);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (text.size() > kMostBytes) throw WaiverError("the waivers " + path + " are over 1 MiB");
  return parse(text, path, today);
}

void Waivers::apply(RuleRecord& rule) const {
  if (rule.verdict != Verdict::fail) return;
  for (const Waiver& w : waivers_) {
    if (!same_place(w, rule.subject) || w.reason != rule.reason) continue;
    const std::string who = w.owner + ", " + w.tracker;
    if (w.expires < today_) {
      rule.text += " (its waiver expired on " + w.expires + ": " + who + ")";
      return;
    }
    rule.verdict = Verdict::waived;
    rule.text = "until " + w.expires + " by " + who + ": " + rule.text;
    return;
  }
}

std::vector<RuleRecord> Waivers::unexpected(const RunResults& results) const {
  std::vector<RuleRecord> passes;
  for (const Waiver& w : waivers_) {
    bool held = false, else_where = false;
    for (const RuleRecord& r : results.rules) {
      if (!same_place(w, r.subject)) continue;
      held = held || (passes_run(r.verdict) && r.judged > 0);
      else_where = else_where || r.verdict == Verdict::waived || fails_run(r.verdict) || undecides_run(r.verdict);
    }
    const auto told = [&](const RuleRecord& r) { return same_place(w, r.subject); };
    if (!held || else_where || std::any_of(passes.begin(), passes.end(), told)) continue;
    RuleRecord record;
    record.subject.slot = w.slot;
    record.subject.variant = w.variant;
    record.subject.rule = w.rule;
    record.verdict = Verdict::unexpected_pass;
    record.text = name_ + ", line " + std::to_string(w.line) + " waives what holds: remove the waiver";
    passes.push_back(std::move(record));
  }
  return passes;
}

std::vector<std::string> Waivers::unused(const RunResults& results) const {
  std::vector<std::string> sentences;
  for (const Waiver& w : waivers_) {
    bool met = false;
    for (const RuleRecord& r : results.rules) met = met || same_place(w, r.subject);
    if (!met)
      sentences.push_back(name_ + ", line " + std::to_string(w.line) + ": nothing that was judged is waived (" +
                          w.rule + ", " + w.slot + ", " + w.variant + ")");
  }
  return sentences;
}

}  // namespace assay
