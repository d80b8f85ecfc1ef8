#include "harness/route/output_spec.hpp"

#include <stdexcept>

namespace assay {
namespace {

std::string difference(const TensorSpec& a, const TensorSpec& b) {
  if (a.name != b.name) return a.name + " stands where the router has " + b.name;
  if (a.shape != b.shape) return "the shape of " + a.name + " differs";
  if (a.dtype != b.dtype) return "the dtype of " + a.name + " differs";
  if (a.strided != b.strided) return "the stride policy of " + a.name + " differs";
  if (a.alignment != b.alignment) return "the alignment of " + a.name + " differs";
  if (a.disjoint != b.disjoint) return "the aliasing of " + a.name + " differs";
  return {};
}

std::string difference(const std::vector<TensorSpec>& a, const std::vector<TensorSpec>& b, const char* what) {
  if (a.size() != b.size()) {
    return "verification has " + std::to_string(a.size()) + " " + what + " and the router " + std::to_string(b.size());
  }
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (auto text = difference(a[i], b[i]); !text.empty()) return text;
  }
  return {};
}

}  // namespace

void validate(const OutputSpec& spec) {
  if (spec.outputs.empty()) throw std::invalid_argument("an output spec without an output");
  for (const auto* list : {&spec.outputs, &spec.workspaces}) {
    for (const TensorSpec& t : *list) {
      for (const std::int64_t extent : t.shape) {
        if (extent < 0) throw std::invalid_argument(t.name + " has a negative extent");
      }
      if (t.padding < 0 || (t.padding > 0 && !t.strided)) {
        throw std::invalid_argument(t.name + " is contiguous and has padding");
      }
      if (t.alignment <= 0 || (t.alignment & (t.alignment - 1)) != 0) {
        throw std::invalid_argument("the alignment of " + t.name + " is no power of two");
      }
    }
  }
}

OutputSpec resolve_outputs(const SlotSpec& slot, const Case& c) {
  OutputSpec spec;
  for (const ArgumentSpec& a : slot.arguments) {
    if (a.kind != 'o') continue;
    TensorSpec t;
    t.name = a.name;
    t.dtype = slot.dtype(a, c);
    t.shape = slot.shape(a, c);
    t.strided = a.strided || c.padded;  // a contiguous output's one padded case is strided (slots.md 2.3)
    t.alignment = a.alignment;
    if (const auto l = c.layouts.find(a.name); l != c.layouts.end() && t.shape.size() >= 2) t.padding = l->second.pad;
    spec.outputs.push_back(std::move(t));
  }
  validate(spec);
  return spec;
}

std::string difference(const OutputSpec& verifier, const OutputSpec& router) {
  if (auto text = difference(verifier.outputs, router.outputs, "outputs"); !text.empty()) return text;
  return difference(verifier.workspaces, router.workspaces, "workspaces");
}

}  // namespace assay
