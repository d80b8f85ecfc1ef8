#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "reports/lines.hpp"
#include "reports/outcomes.hpp"
#include "reports/page_parts.hpp"

namespace assay {
namespace {

using nlohmann::json;

std::string counted(std::int64_t n, const std::string& what) {
  return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
}

std::string time_text(double milliseconds) {
  std::array<char, 48> text{};
  constexpr double second = 1000, minute = 60 * second;
  if (milliseconds < second) {
    std::snprintf(text.data(), text.size(), "%.3g ms", milliseconds);
  } else if (milliseconds < 2 * minute) {
    std::snprintf(text.data(), text.size(), "%.1f s", milliseconds / second);
  } else {
    std::snprintf(text.data(), text.size(), "%.1f min", milliseconds / minute);
  }
  return text.data();
}

// The counts of several dtypes of one place.
void add(Tried& sum, const Tried& more) {
  if (sum.empty()) {
    sum = more;
    return;
  }
  const auto add_names = [](auto& to, const auto& from) {
    for (const auto& [name, cases] : from) {
      const auto at = std::ranges::find(to, name, [](const auto& item) { return item.first; });
      if (at == to.end()) {
        to.emplace_back(name, cases);
      } else {
        at->second += cases;
      }
    }
  };
  add_names(sum.recipes, more.recipes);
  add_names(sum.knobs, more.knobs);
  for (const DimTried& dim : more.dims) {
    const auto at = std::ranges::find(sum.dims, dim.name, &DimTried::name);
    if (at == sum.dims.end()) {
      sum.dims.push_back(dim);
      continue;
    }
    const auto met = [](const DimTried& d) {
      return d.elsewhere != 0 || std::ranges::any_of(d.edges, [](const auto& edge) { return edge.second != 0; });
    };
    if (met(dim)) {
      at->least = met(*at) ? std::min(at->least, dim.least) : dim.least;
      at->most = met(*at) ? std::max(at->most, dim.most) : dim.most;
    }
    at->elsewhere += dim.elsewhere;
    add_names(at->edges, dim.edges);
  }
}

struct Row {
  json chips = json::array();
  std::int64_t met = 0, all = 0;

  void add(const std::string& value, std::int64_t cases) {
    ++all;
    met += cases != 0;
    chips.push_back({{"value", value}, {"cases", cases ? std::to_string(cases) : "never"}, {"never", cases == 0}});
  }
  [[nodiscard]] json part(const std::string& name) const {
    return {{"name", name}, {"met", std::to_string(met) + " of " + std::to_string(all)}, {"chips", chips}};
  }
};

json tried_part(const Tried& tried, std::int64_t& met, std::int64_t& all) {
  json rows = json::array();
  const auto end = [&](const Row& row, const std::string& name) {
    rows.push_back(row.part(name));
    met += row.met;
    all += row.all;
  };
  for (const DimTried& dim : tried.dims) {
    Row row;
    for (const auto& [value, cases] : dim.edges) row.add(std::to_string(value), cases);
    if (dim.elsewhere)
      row.chips.push_back({{"value", "other"}, {"cases", std::to_string(dim.elsewhere)}, {"never", false}});
    end(row, dim.name + ", " + std::to_string(dim.least) + " to " + std::to_string(dim.most));
  }
  const auto named = [&](const auto& names, const char* what) {
    Row row;
    for (const auto& [name, cases] : names) row.add(name, cases);
    if (!names.empty()) end(row, what);
  };
  named(tried.recipes, "recipes");
  named(tried.knobs, "knobs");
  return rows;
}

template <class Time>
json time_row(const Time& time, const std::string& name, double longest, const std::string& before) {
  constexpr double percent = 100;
  return {{"name", name},
          {"trials", time.trials},
          {"total", time_text(time.milliseconds)},
          {"mean", time_text(time.milliseconds / static_cast<double>(std::max<std::int64_t>(1, time.trials)))},
          {"slowest", time_text(time.slowest)},
          {"before", before},
          {"share", static_cast<int>(longest > 0 ? std::lround(percent * time.milliseconds / longest) : 0)}};
}

template <class Time>
double longest_of(const std::vector<Time>& times) {
  double longest = 0;
  for (const Time& time : times) longest = std::max(longest, time.milliseconds);
  return longest;
}

}  // namespace

json cases_part(const RunResults& results) {
  std::vector<CasesRecord> places;
  for (const CasesRecord& record : results.cases) {
    CasesRecord one = record;
    one.subject.dtype.clear();
    const auto at = std::ranges::find(places, one.subject, &CasesRecord::subject);
    if (at == places.end()) {
      places.push_back(std::move(one));
      continue;
    }
    at->distinct += record.distinct;
    at->outside_domain += record.outside_domain;
    add(at->tried, record.tried);
  }
  std::ranges::stable_sort(places, {}, [](const CasesRecord& place) { return place_name(place.subject); });
  json list = json::array();
  constexpr std::size_t few = 2;
  for (const CasesRecord& place : places) {
    std::int64_t met = 0, all = 0;
    json tried = tried_part(place.tried, met, all);
    std::string sentence = counted(place.distinct, "distinct case");
    if (place.outside_domain) sentence += ", " + std::to_string(place.outside_domain) + " outside the declared domain";
    if (all) sentence += "; " + std::to_string(met) + " of " + std::to_string(all) + " edges, recipes and knobs met";
    list.push_back({{"place", place_name(place.subject)},
                    {"sentence", sentence},
                    {"open", places.size() <= few},
                    {"has_tried", !place.tried.empty()},
                    {"tried", std::move(tried)}});
  }
  return {{"has_cases", !places.empty()},
          {"cases", std::move(list)},
          {"case_sentence",
           "Cases inside the declared domain, all dtypes together. A value that no case met was not "
           "tested in this run: a higher tier or another seed reaches further."}};
}

json times_part(const RunResults& results, const RunResults* before) {
  json slots = json::array(), drives = json::array();
  const double slot_longest = longest_of(results.times), drive_longest = longest_of(results.drives);
  const auto earlier = [&](const auto& times, auto&& same) {
    const auto at = std::ranges::find_if(times, same);
    return at == times.end() ? std::string("none") : time_text(at->milliseconds);
  };
  for (const SlotTime& time : results.times) {
    const auto same = [&](const SlotTime& t) { return t.slot == time.slot && t.device == time.device; };
    slots.push_back(time_row(time, (time.slot.empty() ? "(library)" : time.slot) + " " + time.device, slot_longest,
                             before ? earlier(before->times, same) : ""));
  }
  std::vector<DriveTime> sorted = results.drives;
  std::ranges::stable_sort(sorted, std::ranges::greater{}, &DriveTime::milliseconds);
  for (const DriveTime& time : sorted) {
    const auto same = [&](const DriveTime& t) { return t.drive == time.drive; };
    drives.push_back(time_row(time, time.drive, drive_longest, before ? earlier(before->drives, same) : ""));
  }
  return json::array({{{"caption", "Trials by slot"}, {"head", "Slot"}, {"rows", std::move(slots)}},
                      {{"caption", "Trials by drive"}, {"head", "Drive"}, {"rows", std::move(drives)}}});
}

std::string counts_sentence(const RunResults& results) {
  std::int64_t distinct = 0, outside = 0;
  for (const CasesRecord& cases : results.cases) {
    distinct += cases.distinct;
    outside += cases.outside_domain;
  }
  std::string text = counted(distinct, "distinct case");
  if (outside) text += " (" + std::to_string(outside) + " outside the declared domain)";
  text += ", " + counted(results.trials, "trial");
  if (results.has_end) text += ", " + time_text(1000 * results.end.seconds);
  return text;
}

json facts_part(const RunResults& results, const RunResults* before) {
  json facts = json::array();
  const auto add = [&](const char* name, auto&& value) {
    const std::string now = value(results), then = before ? value(*before) : "";
    if (now.empty() && then.empty()) return;
    facts.push_back({{"name", name}, {"value", now.empty() ? "none" : now}, {"before", then.empty() ? "none" : then}});
  };
  add("verdict", [](const RunResults& r) {
    const EndRecord end = conclude(r);
    return end.verdict + " (exit " + std::to_string(end.exit_code) + ")" + (end.why.empty() ? "" : ": " + end.why);
  });
  add("library", [](const RunResults& r) { return r.run.library_name + " " + r.run.library_version; });
  add("path", [](const RunResults& r) { return r.run.library; });
  add("sha256", [](const RunResults& r) { return r.run.library_sha256; });
  add("devices", [](const RunResults& r) { return joined(r.run.devices); });
  add("NCCL", [](const RunResults& r) {
    return r.run.nccl.empty() ? "" : r.run.nccl + " " + r.run.nccl_version + ", sha256 " + r.run.nccl_sha256;
  });
  add("tier", [](const RunResults& r) { return r.run.tier; });
  add("seed", [](const RunResults& r) { return std::to_string(r.run.seed); });
  add("isolation", [](const RunResults& r) { return r.run.isolation; });
  add("started", [](const RunResults& r) { return r.run.started; });
  add("resumed", [](const RunResults& r) {
    std::vector<std::string> times;
    for (const ResumeRecord& again : r.resumes)
      times.push_back(again.started + ", " + counted(again.kept, "unit") + " kept");
    return joined(times);
  });
  add("counts", counts_sentence);
  add("command", [](const RunResults& r) { return r.run.command; });
  add("assay", [](const RunResults& r) { return r.run.assay_version; });
  return facts;
}

}  // namespace assay
