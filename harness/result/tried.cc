#include "harness/result/tried.hpp"

#include <stdexcept>

#include "harness/result/text.hpp"

namespace assay {
namespace {

using nlohmann::json;

[[noreturn]] void refuse(const char* why) { throw std::invalid_argument(why); }

std::int64_t integer(const json& value) {
  if (!value.is_number_integer()) refuse("holds a number that is no integer");
  return value.get<std::int64_t>();
}

std::int64_t count(const json& value) {
  const std::int64_t n = integer(value);
  if (n < 0) refuse("holds a count under 0");
  return n;
}

const json& list(const json& object, const char* key, std::size_t size_of_item = 0) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_array()) refuse("lacks a list");
  for (const json& item : *found)
    if (size_of_item && (!item.is_array() || item.size() != size_of_item)) refuse("holds an item of another length");
  return *found;
}

std::vector<std::pair<std::string, std::int64_t>> named_counts(const json& object, const char* key) {
  std::vector<std::pair<std::string, std::int64_t>> out;
  for (const json& item : list(object, key, 2)) {
    if (!item[0].is_string()) refuse("holds a name that is no text");
    out.emplace_back(item[0].get<std::string>(), count(item[1]));
  }
  return out;
}

json list_of(const std::vector<std::pair<std::string, std::int64_t>>& pairs) {
  json out = json::array();
  for (const auto& [name, cases] : pairs) out.push_back({repaired(name), cases});
  return out;
}

}  // namespace

json to_json(const Tried& tried) {
  json dims = json::array();
  for (const DimTried& dim : tried.dims) {
    json edges = json::array();
    for (const auto& [value, cases] : dim.edges) edges.push_back({value, cases});
    dims.push_back({{"name", repaired(dim.name)},
                    {"least", dim.least},
                    {"most", dim.most},
                    {"edges", std::move(edges)},
                    {"elsewhere", dim.elsewhere}});
  }
  return {{"dims", std::move(dims)}, {"recipes", list_of(tried.recipes)}, {"knobs", list_of(tried.knobs)}};
}

Tried tried_from(const json& object) {
  constexpr std::size_t keys = 3, dim_keys = 5;
  if (!object.is_object() || object.size() != keys) refuse("is not an object of dims, recipes and knobs");
  Tried tried;
  for (const json& j : list(object, "dims")) {
    if (!j.is_object() || j.size() != dim_keys || !j.contains("name") || !j["name"].is_string() ||
        !j.contains("least") || !j.contains("most") || !j.contains("elsewhere"))
      refuse("holds a dimension with other keys");
    DimTried dim{j["name"].get<std::string>(), integer(j["least"]), integer(j["most"]), {}, count(j["elsewhere"])};
    for (const json& edge : list(j, "edges", 2)) dim.edges.emplace_back(integer(edge[0]), count(edge[1]));
    tried.dims.push_back(std::move(dim));
  }
  tried.recipes = named_counts(object, "recipes");
  tried.knobs = named_counts(object, "knobs");
  return tried;
}

}  // namespace assay
