#include "harness/catalogue/resolve.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "harness/case/json.hpp"

namespace assay {
namespace {

using nlohmann::json;

[[noreturn]] void refuse(const char* rule, const std::string& sentence) { throw PackageRefused(rule, sentence); }

std::string text(const json& value, const std::string& what) {
  if (!value.is_string() || value.get_ref<const std::string&>().empty())
    refuse("package", what + " has to be text that is not empty");
  return value;
}

std::vector<std::string> texts(const json& value, const std::string& what) {
  if (!value.is_array()) refuse("package", what + " has to be an array");
  std::vector<std::string> list;
  for (const json& item : value) list.push_back(text(item, "each of " + what));
  return list;
}

PackageRow row_of(const json& value) {
  if (!value.is_object()) refuse("package", "a row has to be an object");
  PackageRow row;
  for (const auto& [key, item] : value.items()) {
    if (key == "slot")
      row.slot = text(item, key);
    else if (key == "variant")
      row.variant = text(item, key);
    else if (key == "prepare")
      row.prepare = text(item, key);
    else if (key == "artifact")
      row.artifact = text(item, key);
    else if (key == "patch")
      row.patch = text(item, key);
    else if (key == "sources")
      row.sources = texts(item, key);
    else
      row.unknown_keys.insert(key);
  }
  if (row.slot.empty() || row.variant.empty()) refuse("package", "a row names no slot or no variant");
  return row;
}

bool compilable(const std::string& source) {
  static const std::set<std::string> suffixes = {"c", "cc", "cpp", "cu", "cxx"};
  const std::size_t point = source.rfind('.');
  return point != std::string::npos && suffixes.count(source.substr(point + 1)) != 0;
}

// TR-4: who lists something for a tool needs the tool, and who brings a tool something for it.
void check_evidence(const Package& p) {
  const auto any = [&](auto has) { return std::any_of(p.rows.begin(), p.rows.end(), has); };
  const auto side = [&](bool listed, const char* what, const char* facility) {
    const bool ready = p.facilities.count(facility) != 0;
    if (listed && !ready)
      refuse("TR-4", std::string("the package lists ") + what + ", and no " + facility + " was seen");
    if (ready && !listed) refuse("TR-4", std::string("a ") + facility + " was seen, and the package lists no " + what);
  };
  const bool sources = any([](const PackageRow& r) { return !r.sources.empty(); });
  const bool units =
      any([](const PackageRow& r) { return std::any_of(r.sources.begin(), r.sources.end(), compilable); });
  if (sources && !units) refuse("TR-4", "the package lists sources, and none is a unit that a builder compiles");
  side(units, "sources", "builder");
  side(any([](const PackageRow& r) { return r.artifact.has_value(); }), "artifact", "provider");
  side(any([](const PackageRow& r) { return r.patch.has_value(); }), "patch", "applier");
}

std::string list_of(const std::set<std::string>& ids) {
  std::string out;
  for (const std::string& id : ids) out += (out.empty() ? "" : ", ") + id;
  return out;
}

}  // namespace

Package package_from_json(const json& value) {
  if (!value.is_object()) refuse("package", "it has to be an object");
  Package p;
  for (const auto& [key, item] : value.items()) {
    if (key == "target")
      p.target = text(item, key);
    else if (key == "mode")
      p.mode = text(item, key);
    else if (key == "contract_digest")
      p.contract_digest = text(item, key);
    else if (key == "rows") {
      if (!item.is_array()) refuse("package", "rows has to be an array");
      for (const json& row : item) p.rows.push_back(row_of(row));
    } else if (key == "facilities") {
      for (const std::string& f : texts(item, key)) {
        if (f != "builder" && f != "provider" && f != "applier") refuse("package", shown(f) + " is no facility");
        p.facilities.insert(f);
      }
    } else
      refuse("package", shown(key) + " is no field of it");
  }
  return p;
}

std::set<std::string> observed_features(const Package& p) {
  std::set<std::string> seen = {"entry"};
  std::map<std::string, int> variants;
  for (const PackageRow& r : p.rows) {
    if (++variants[r.slot] > 1) seen.insert("variants");
    if (r.prepare) seen.insert("prepare");
    if (r.artifact) seen.insert("artifact");
    if (r.patch) seen.insert("patch");
    if (!r.sources.empty()) seen.insert("sources");
    seen.insert(r.unknown_keys.begin(), r.unknown_keys.end());
  }
  return seen;
}

Resolution resolve(const Catalogue& catalogue, const Package& p) {
  if (p.rows.empty()) refuse("package", "it has no row");
  std::set<std::string> slots;
  std::set<std::pair<std::string, std::string>> variants;
  for (const PackageRow& r : p.rows) {
    slots.insert(r.slot);
    if (!variants.emplace(r.slot, r.variant).second)
      refuse("package", "two rows of " + r.slot + " are the variant " + shown(r.variant));
  }
  const Target* target = nullptr;
  if (p.target) {
    target = catalogue.find(*p.target);
    if (!target) refuse("TR-1", shown(*p.target) + " is no registered target; `assay targets` names them");
    if (!p.mode) refuse("TR-1", "the package names a target and no mode");
    if (*p.mode != name_of(target->spec().kind))
      refuse("TR-1", *p.target + " is " + std::string(name_of(target->spec().kind)) + ", and the package says " +
                         shown(*p.mode));
    if (slots != target->spec().members)
      refuse("TR-1",
             *p.target + " is exactly " + list_of(target->spec().members) + ", and the package has " + list_of(slots));
  } else {
    if (p.mode) refuse("TR-1", "the package names a mode and no target");
    for (const Target& t : catalogue.targets())
      if (t.spec().members == slots) target = &t;
    if (!target) refuse("TR-2", "unregistered: no target is exactly " + list_of(slots));
  }
  const std::string& id = target->spec().id;
  for (const std::string& feature : observed_features(p))
    if (target->spec().allowed_features.count(feature) == 0) refuse("TR-3", id + " does not allow " + shown(feature));
  check_evidence(p);
  if (p.contract_digest && *p.contract_digest != target->contract_digest())
    refuse("stale", "the evidence was made under another contract of " + id + ": verify it again");
  return {target, {target->spec().members.begin(), target->spec().members.end()}};
}

}  // namespace assay
