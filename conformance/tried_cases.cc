#include "conformance/tried_cases.hpp"

#include <algorithm>

namespace assay {

Tried untried(const SlotSpec& slot) {
  Tried tried;
  for (const DimSpec& spec : slot.dims) {
    DimTried dim;
    dim.name = spec.name;
    std::vector<std::int64_t> edges = spec.edges;
    edges.push_back(spec.min);
    std::ranges::sort(edges);
    edges.erase(std::ranges::unique(edges).begin(), edges.end());
    for (const std::int64_t edge : edges) dim.edges.emplace_back(edge, 0);
    tried.dims.push_back(std::move(dim));
  }
  for (const RecipeSpec& recipe : slot.recipes) tried.recipes.emplace_back(recipe.name, 0);
  for (const KnobSpec& knob : slot.knobs)
    for (const std::string& value : knob.values) tried.knobs.emplace_back(knob.name + "=" + value, 0);
  return tried;
}

void count_case(Tried& tried, const Case& c) {
  for (DimTried& dim : tried.dims) {
    const auto found = c.dims.find(dim.name);
    if (found == c.dims.end()) continue;
    const std::int64_t value = found->second;
    std::int64_t before = dim.elsewhere;
    for (const auto& [edge, cases] : dim.edges) before += cases;
    dim.least = before ? std::min(dim.least, value) : value;
    dim.most = before ? std::max(dim.most, value) : value;
    const auto edge = std::ranges::find(dim.edges, value, [](const auto& e) { return e.first; });
    ++(edge == dim.edges.end() ? dim.elsewhere : edge->second);
  }
  const auto count = [](auto& names, const std::string& name) {
    for (auto& [known, cases] : names) cases += known == name;
  };
  count(tried.recipes, c.recipe);
  for (const auto& [name, value] : c.knobs) count(tried.knobs, name + "=" + value);
}

}  // namespace assay
