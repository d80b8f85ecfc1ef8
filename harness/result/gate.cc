#include "harness/result/gate.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>

#include "harness/catalogue/canonical.hpp"
#include "harness/result/text.hpp"

namespace assay {
namespace {

using nlohmann::json;

constexpr const char* kSuiteDomain = "assay.suite";

[[noreturn]] void refuse(const std::string& why) { throw std::invalid_argument(why); }

// Reads the keys of one object; done() refuses what nobody asked for.
class Object {
 public:
  Object(const json& value, std::string what) : value_(value), what_(std::move(what)) {
    if (!value.is_object()) refuse(what_ + " is not an object");
  }
  const json& any(const char* key) {
    const auto found = value_.find(key);
    if (found == value_.end()) refuse(what_ + " lacks " + key);
    read_.insert(key);
    return *found;
  }
  std::string text(const char* key) {
    const json& value = any(key);
    if (!value.is_string()) refuse(what_ + ": " + key + " is not text");
    return value.get<std::string>();
  }
  std::string digest(const char* key) {
    const std::string value = text(key);
    if (!is_digest(value)) refuse(what_ + ": " + key + " is not a digest");
    return value;
  }
  std::string digest_or_empty(const char* key) { return text(key).empty() ? std::string() : digest(key); }
  std::int64_t count(const char* key) {
    const json& value = any(key);
    if (!value.is_number_integer() || value.get<std::int64_t>() < 0) refuse(what_ + ": " + key + " is not a count");
    return value.get<std::int64_t>();
  }
  bool flag(const char* key) {
    const json& value = any(key);
    if (!value.is_boolean()) refuse(what_ + ": " + key + " is neither true nor false");
    return value.get<bool>();
  }
  std::map<std::string, std::string> digests(const char* key) {
    const json& value = any(key);
    if (!value.is_object()) refuse(what_ + ": " + key + " is not an object of digests");
    std::map<std::string, std::string> all;
    for (const auto& [name, digest] : value.items()) {
      if (!digest.is_string() || !is_digest(digest.get_ref<const std::string&>()))
        refuse(what_ + ": " + key + " holds what is not a digest");
      all[name] = digest.get<std::string>();
    }
    return all;
  }
  template <class Item, class Read>
  std::vector<Item> sorted(const char* key, Read read) {
    const json& value = any(key);
    if (!value.is_array()) refuse(what_ + ": " + key + " is not a list");
    std::vector<Item> items;
    for (const json& item : value) items.push_back(read(item));
    const auto rises = [](const Item& a, const Item& b) { return !(a < b); };
    if (std::ranges::adjacent_find(items, rises) != items.end())
      refuse(what_ + ": " + key + " is not sorted, or says something twice");
    return items;
  }
  void done() const {
    for (const auto& [key, value] : value_.items())
      if (!read_.contains(key)) refuse(what_ + " has no key " + repaired(key));
  }

 private:
  const json& value_;
  std::string what_;
  std::set<std::string> read_;
};

GateVariant variant_from(const json& value) {
  Object o(value, "a variant");
  GateVariant v{o.text("slot"), o.text("variant"), o.text("device"), o.text("domain"), o.flag("graph_safe")};
  o.done();
  return v;
}

GateWaiver waiver_from(const json& value) {
  Object o(value, "a waiver");
  GateWaiver w{o.text("rule"),  o.text("slot"),    o.text("variant"), o.text("reason"),
               o.text("owner"), o.text("tracker"), o.text("expires")};
  o.done();
  (void)reason_from(w.reason);
  return w;
}

json digests_of(const std::map<std::string, std::string>& digests) {
  json j = json::object();
  for (const auto& [name, digest] : digests) j[repaired(name)] = digest;
  return j;
}

}  // namespace

json to_json(const GateRecord& g) {
  json variants = json::array();
  for (const GateVariant& v : g.variants)
    variants.push_back({{"slot", repaired(v.slot)},
                        {"variant", repaired(v.variant)},
                        {"device", v.device},
                        {"domain", repaired(v.domain)},
                        {"graph_safe", v.graph_safe}});
  json waivers = json::array();
  for (const GateWaiver& w : g.waivers)
    waivers.push_back({{"rule", w.rule},
                       {"slot", w.slot},
                       {"variant", repaired(w.variant)},
                       {"reason", w.reason},
                       {"owner", repaired(w.owner)},
                       {"tracker", repaired(w.tracker)},
                       {"expires", w.expires}});
  return {{"contracts", digests_of(g.contracts)},
          {"targets", digests_of(g.targets)},
          {"variants", std::move(variants)},
          {"rules", g.rules},
          {"rules_left_out", g.rules_left_out},
          {"program", g.program},
          {"worker", g.worker},
          {"references", g.references},
          {"compiler", repaired(g.compiler)},
          {"waivers", std::move(waivers)},
          {"waivers_sha256", g.waivers_sha256}};
}

GateRecord gate_from(const json& value) {
  Object o(value, "what a gate adds");
  GateRecord g;
  g.contracts = o.digests("contracts");
  g.targets = o.digests("targets");
  g.variants = o.sorted<GateVariant>("variants", variant_from);
  g.rules = o.digest("rules");
  g.rules_left_out = o.count("rules_left_out");
  g.program = o.digest("program");
  g.worker = o.digest("worker");
  g.references = o.digest_or_empty("references");
  g.compiler = o.text("compiler");
  g.waivers = o.sorted<GateWaiver>("waivers", waiver_from);
  g.waivers_sha256 = o.digest_or_empty("waivers_sha256");
  o.done();
  for (const auto& [slot, digest] : g.targets)
    if (!g.contracts.contains(slot)) refuse("what a gate adds: a target without a contract: " + repaired(slot));
  for (const GateVariant& v : g.variants)
    if (!g.contracts.contains(v.slot)) refuse("what a gate adds: a variant without a contract: " + repaired(v.slot));
  if (!g.waivers.empty() && g.waivers_sha256.empty()) refuse("what a gate adds: waivers of no file");
  return g;
}

std::string suite_digest(const GateRecord& g) {
  return envelope_digest(kSuiteDomain,
                         {{"contracts", digests_of(g.contracts)},
                          {"rules", g.rules},
                          {"program", g.program},
                          {"worker", g.worker},
                          {"references", g.references}},
                         1);
}

}  // namespace assay
