#include "conformance/resume.hpp"

#include <algorithm>
#include <filesystem>
#include <stdexcept>

#include "conformance/command_line.hpp"
#include "harness/case/json.hpp"

namespace assay {

Resumption resumption_of(const Options& given) {
  const std::string path = given.resume + "/results.jsonl";
  const bool named = !given.library.empty() || !given.worker.empty();
  std::error_code error;
  RunResults results;
  try {
    if (std::filesystem::exists(path, error)) results = read_results(path);
  } catch (const std::invalid_argument& why) {
    throw std::runtime_error(std::string(why.what()) + "; no run can go on from there: check again without --resume");
  }
  Resumption resumption{given};
  resumption.options.report = given.resume;
  if (!results.has_run) {
    if (!named) throw std::runtime_error(given.resume + " holds no run to go on with: name a library to begin one");
    resumption.begins = true;
    return resumption;
  }
  Options nothing;
  nothing.command = Options::Command::check;
  Options said = given;
  said.jobs = 0;
  Options& options = resumption.options;
  try {
    options = options_of(results.run.command);
  } catch (const std::invalid_argument& why) {
    throw std::runtime_error(path + ", line 1: the command " + why.what());
  }
  Options of_run = options;
  of_run.jobs = 0;
  if (words_of(said) != words_of(named ? of_run : nothing))
    throw std::runtime_error("the run in " + given.resume + " is `" + results.run.command +
                             "`: give the same options, or none but --resume");
  options.report = options.resume = given.resume;
  options.called = given.called;
  if (given.jobs != 0) options.jobs = given.jobs;
  resumption.ended = results.has_end;
  return resumption;
}

std::string differs(const RunRecord& before, const RunRecord& now) {
  const nlohmann::json was = to_json(before), is = to_json(now);
  for (const auto& [key, value] : was.items()) {
    if (key == "started" || (is.contains(key) && is.at(key) == value)) continue;
    const auto said = [&](const nlohmann::json& run) {
      if (!run.contains(key)) return std::string("none");
      const auto& v = run.at(key);
      return v.is_object() ? std::string("another one") : v.is_string() ? v.get<std::string>() : v.dump();
    };
    return "the run had " + key + " " + said(was) + ", and this one has " + said(is) + ": check again without --resume";
  }
  return was.size() == is.size() ? "" : "the run line would have other keys: check again without --resume";
}

bool is_finished(const RunResults& results, const Unit& unit) {
  return std::ranges::any_of(results.cases, [s = subject_of(unit)](const CasesRecord& c) { return c.subject == s; });
}

}  // namespace assay
