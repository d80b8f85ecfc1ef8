#include "harness/worker/confinement.hpp"

#include <nlohmann/json.hpp>

namespace assay {

using nlohmann::json;

std::string to_text(const Confinement& c) {
  return json{{"task", static_cast<int>(c.task)},
              {"uid", c.uid},
              {"namespaces", c.namespaces},
              {"user_of_its_own", c.user_of_its_own},
              {"program", c.program},
              {"words", c.words},
              {"library", c.library},
              {"folders", c.folders},
              {"data_limit", c.data_limit},
              {"processes", c.processes}}
      .dump(-1, ' ', false, json::error_handler_t::replace);
}

Confinement confinement_from(const std::string& text) {
  const json given = json::parse(text);
  Confinement c;
  c.task = static_cast<Confinement::Task>(given.at("task").get<int>());
  given.at("uid").get_to(c.uid);
  given.at("namespaces").get_to(c.namespaces);
  given.at("user_of_its_own").get_to(c.user_of_its_own);
  given.at("program").get_to(c.program);
  given.at("words").get_to(c.words);
  given.at("library").get_to(c.library);
  given.at("folders").get_to(c.folders);
  given.at("data_limit").get_to(c.data_limit);
  given.at("processes").get_to(c.processes);
  return c;
}

}  // namespace assay
