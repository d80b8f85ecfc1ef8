#include "reports/page.hpp"

#include "reports/outcomes.hpp"
#include "reports/page_parts.hpp"
#include "reports/render.hpp"
#include "reports/templates.hpp"

namespace assay {
namespace {

using nlohmann::json;

std::string lower(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

std::string library_of(const RunRecord& run) {
  const std::string name = run.library_name + (run.library_version.empty() ? "" : " " + run.library_version);
  return name.empty() ? run.library : name;
}

json model_of(const RunResults& results, const EarlierRun* before) {
  const RunResults* old = before ? &before->results : nullptr;
  const Groups groups = grouped(results);
  const EndRecord end = conclude(results);
  const json notes = notes_part(results);
  json model = {{"verdict", end.verdict},
                {"verdict_class", lower(end.verdict)},
                {"exit_code", end.exit_code},
                {"why", end.why},
                {"library", library_of(results.run)},
                {"counts", counts_sentence(results)},
                {"compared", before != nullptr},
                {"before_path", before ? before->path : ""},
                {"before_verdict", ""},
                {"before_why", ""},
                {"has_failures", !groups.empty()},
                {"failure_count", groups.size()},
                {"failures", failures_part(groups, old)},
                {"has_notes", !notes.empty()},
                {"note_count", notes.size()},
                {"notes", notes},
                {"has_times", results.trials != 0},
                {"times", times_part(results, old)},
                {"facts", facts_part(results, old)}};
  model.update(grid_part(results, groups, old));
  model.update(cases_part(results));
  if (before) {
    const EndRecord then = conclude(*old);
    model["before_verdict"] = then.verdict;
    model["before_why"] = then.why;
    model.update(changes_part(results, groups, *old));
  }
  return model;
}

}  // namespace

std::string html_page(const RunResults& results, const EarlierRun* before) {
  json model = model_of(results, before);
  model["css"] = templates::page_css;
  return rendered(templates::page_html, model, Markup::html);
}

std::string markdown_summary(const RunResults& results, const EarlierRun* before) {
  json model = model_of(results, before);
  model["slots"] = slots_part(results);
  model["has_slots"] = !model["slots"].empty();
  json first = json::array();
  for (const json& failure : model["failures"])
    if (first.size() < summarised_failures) first.push_back(failure);
  const std::size_t more = model["failures"].size() - first.size();
  model["summarised"] = std::move(first);
  model["more_failures"] = more ? std::to_string(more) : "";
  return rendered(templates::summary_md, model, Markup::markdown);
}

}  // namespace assay
