#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "reports/outcomes.hpp"
#include "reports/page_parts.hpp"

namespace assay {
namespace {

using nlohmann::json;

using Key = std::tuple<std::string, std::string, std::string, std::int64_t, std::string, std::string>;

Key key_of(const Subject& s) { return {s.slot, s.variant, s.device, s.ranks, s.rule, s.dtype}; }

struct Pair {
  std::optional<Verdict> before, after;
  Subject subject;
};

std::string said(const std::optional<Verdict>& v) { return v ? std::string(name_of(*v)) : "not judged"; }
std::string styled(const std::optional<Verdict>& v) { return v ? class_of(*v) : "absent"; }
int weight(const std::optional<Verdict>& v) { return v ? badness(*v) : -1; }

// Dtypes that changed alike.
struct Change {
  Pair pair;
  std::vector<std::string> dtypes;
};

std::vector<Change> changes_of(const RunResults& now, const RunResults& before) {
  std::map<Key, Pair> pairs;
  for (const Outcome& o : outcomes_of(before)) pairs[key_of(o.subject)] = {o.verdict, std::nullopt, o.subject};
  for (const Outcome& o : outcomes_of(now)) {
    Pair& pair = pairs[key_of(o.subject)];
    pair.after = o.verdict;
    pair.subject = o.subject;
  }
  std::vector<Change> changes;
  for (const auto& [key, pair] : pairs) {
    if (pair.before == pair.after) continue;
    const auto alike = std::ranges::find_if(changes, [&](const Change& c) {
      return place_name(c.pair.subject) == place_name(pair.subject) && c.pair.subject.rule == pair.subject.rule &&
             c.pair.before == pair.before && c.pair.after == pair.after;
    });
    if (alike == changes.end()) {
      changes.push_back({pair, {pair.subject.dtype}});
    } else {
      alike->dtypes.push_back(pair.subject.dtype);
    }
  }
  std::ranges::stable_sort(changes, std::ranges::greater{}, [](const Change& c) {
    return std::pair(weight(c.pair.after), weight(c.pair.after) - weight(c.pair.before));
  });
  return changes;
}

bool fails_at_all(const RunResults& now, const FailureRecord& old) {
  return std::ranges::any_of(now.failures, [&](const FailureRecord& f) { return f.subject == old.subject; });
}

}  // namespace

json changes_part(const RunResults& now, const Groups& groups, const RunResults& before) {
  json changes = json::array();
  for (const Change& c : changes_of(now, before))
    changes.push_back({{"rule", c.pair.subject.rule},
                       {"place", place_name(c.pair.subject)},
                       {"dtypes", joined(c.dtypes)},
                       {"before", said(c.pair.before)},
                       {"before_class", styled(c.pair.before)},
                       {"after", said(c.pair.after)},
                       {"after_class", styled(c.pair.after)},
                       {"href", c.pair.after == Verdict::fail ? failure_id_of(groups, c.pair.subject) : ""}});
  json gone = json::array();
  for (const std::vector<FailureRecord>& group : grouped(before)) {
    if (std::ranges::any_of(group, [&](const FailureRecord& f) { return fails_at_all(now, f); })) continue;
    std::vector<std::string> rules;
    for (const FailureRecord& f : group) add_new(rules, f.subject.rule);
    gone.push_back(
        {{"rules", joined(rules)}, {"place", place_name(group.front().subject)}, {"replay", group.front().replay}});
  }
  return {{"changes", changes},
          {"has_changes", !changes.empty()},
          {"nothing_changed", changes.empty()},
          {"gone", std::move(gone)}};
}

}  // namespace assay
