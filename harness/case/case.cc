#include "harness/case/case.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "harness/case/digest.hpp"
#include "harness/case/json.hpp"

namespace assay {
namespace {

using nlohmann::json;

constexpr std::array<std::string_view, kDrives> kDriveNames{
    "eager",         "two_poisons",  "relocated",  "guard_pages",    "garbage",            "variation", "repeat_under_load",
    "late_producer", "held_stream",  "two_streams", "capture_replay", "interleaved_graphs", "regrow",    "many_replays",
    "prepared",      "burst",        "groups",     "one_rank", "routed", "endurance"};

[[noreturn]] void refuse(const std::string& why) { throw std::invalid_argument(why); }

const json& member(const json& object, const char* name) {
  if (!object.is_object() || !object.contains(name)) refuse(std::string("the field '") + name + "' is missing");
  return object.at(name);
}

template <class T>
T read(const json& object, const char* name) {
  const json& value = member(object, name);
  const auto wrong = [&](const char* what) { refuse(std::string("the field '") + name + "' is not " + what); };
  if constexpr (std::is_same_v<T, std::string>) {
    if (!value.is_string()) wrong("a text");
  } else if constexpr (std::is_same_v<T, bool>) {
    if (!value.is_boolean()) wrong("true or false");
  } else {
    if (!value.is_number_integer()) wrong("an integer");
    if (std::is_unsigned_v<T> && value.is_number_integer() && !value.is_number_unsigned()) wrong("an integer from 0 on");
  }
  return value.get<T>();
}

const json& object_of(const json& parent, const char* name) {
  const json& value = member(parent, name);
  if (!value.is_object()) refuse(std::string("the field '") + name + "' is not an object");
  return value;
}

const json& list_of(const json& parent, const char* name, std::size_t most) {
  const json& value = member(parent, name);
  if (!value.is_array() || value.size() > most)
    refuse(std::string("the field '") + name + "' is not a list of at most " + std::to_string(most));
  return value;
}

json to_json(const TrialPart& part) {
  json cases = json::array();
  for (const Case& c : part.cases) cases.push_back(assay::to_json(c));
  return {{"drive", name_of(part.drive)}, {"cases", std::move(cases)}};
}

TrialPart part_from_json(const json& j) {
  TrialPart part;
  part.drive = drive_from(read<std::string>(j, "drive"));
  for (const json& c : list_of(j, "cases", 8)) part.cases.push_back(case_from_json(c));
  if (part.cases.size() != cases_of(part.drive))
    refuse("the drive '" + std::string(name_of(part.drive)) + "' takes " + std::to_string(cases_of(part.drive)) +
           " cases, not " + std::to_string(part.cases.size()));
  return part;
}

}  // namespace

std::int64_t Case::operator[](std::string_view dim) const { return dims.at(std::string(dim)); }

json to_json(const Case& c) {
  json layouts = json::object(), scalars = json::object();
  for (const auto& [name, l] : c.layouts) layouts[name] = {{"pad", l.pad}, {"offset", l.offset}};
  for (const auto& [name, v] : c.scalars) scalars[name] = v;
  json j = {{"slot", c.slot},       {"dtype", name_of(c.dtype)}, {"dims", c.dims},   {"knobs", c.knobs},
          {"layouts", layouts},   {"scalars", scalars},        {"recipe", c.recipe}, {"seed", c.seed},
          {"early", c.early},     {"block_seed", c.block_seed}, {"far", c.far}};
  if (c.padded) j["padded"] = true;
  if (c.world != 1) j["world"] = c.world;
  return j;
}

Case case_from_json(const json& j) {
  Case c;
  c.slot = read<std::string>(j, "slot");
  c.dtype = dtype_from(read<std::string>(j, "dtype"));
  for (const auto& [name, value] : object_of(j, "dims").items()) {
    if (!value.is_number_integer()) refuse("the dim '" + name + "' is not an integer");
    c.dims[name] = value.get<std::int64_t>();
    if (c.dims[name] < 0 || c.dims[name] > (1LL << 40)) refuse("the dim '" + name + "' is out of range");
  }
  for (const auto& [name, value] : object_of(j, "knobs").items()) {
    if (!value.is_string()) refuse("the knob '" + name + "' is not a text");
    c.knobs[name] = value.get<std::string>();
  }
  for (const auto& [name, value] : object_of(j, "layouts").items()) {
    ArgumentLayout l;
    l.pad = read<std::int64_t>(value, "pad");
    l.offset = read<std::int64_t>(value, "offset");
    if (l.pad < 0 || l.offset < 0 || l.pad > (1 << 20) || l.offset > (1 << 20))
      refuse("the layout of '" + name + "' is out of range");
    c.layouts[name] = l;
  }
  for (const auto& [name, value] : object_of(j, "scalars").items()) {
    if (!value.is_number()) refuse("the scalar '" + name + "' is not a number");
    c.scalars[name] = value.get<double>();
  }
  c.recipe = read<std::string>(j, "recipe");
  c.seed = read<std::uint64_t>(j, "seed");
  c.early = read<bool>(j, "early");
  c.block_seed = read<std::uint64_t>(j, "block_seed");
  c.far = read<bool>(j, "far");
  c.padded = j.contains("padded") && read<bool>(j, "padded");
  if (j.contains("world")) c.world = read<std::int64_t>(j, "world");
  if (c.world < 1 || c.world > kMostRanks) refuse("the field 'world' is not from 1 to " + std::to_string(kMostRanks));
  return c;
}

std::string digest(const Case& c) { return sha256_hex(canonical(to_json(c))); }

std::string describe(const Case& c) {
  std::string text;
  for (const auto& [name, value] : c.dims) text += name + "=" + std::to_string(value) + " ";
  text += std::string(name_of(c.dtype)) + " recipe=" + c.recipe;
  for (const auto& [name, value] : c.knobs) text += " " + name + "=" + value;
  for (const auto& [name, value] : c.scalars) text += " " + name + "=" + canonical(json(value));
  for (const auto& [name, l] : c.layouts) {
    if (l.pad) text += " " + name + ".pad=" + std::to_string(l.pad);
    if (l.offset) text += " " + name + ".offset=" + std::to_string(l.offset) + "B";
  }
  if (c.far) text += " far rows";
  if (c.padded) text += " padded outputs";
  if (c.world != 1) text += " ranks=" + std::to_string(c.world);
  text += c.early ? " early" : " late";
  if (c.block_seed) text += " blocks=" + std::to_string(c.block_seed);
  return text + " seed=" + std::to_string(c.seed);
}

std::string_view name_of(Drive d) noexcept { return kDriveNames[static_cast<std::size_t>(d)]; }

Drive drive_from(std::string_view name) {
  for (std::size_t i = 0; i < kDrives; ++i)
    if (kDriveNames[i] == name) return static_cast<Drive>(i);
  refuse("no such drive: '" + std::string(name) + "'");
}

std::size_t cases_of(Drive d) noexcept {
  return d == Drive::relocated || d == Drive::interleaved_graphs || d == Drive::regrow || d == Drive::burst ||
                 d == Drive::groups || d == Drive::routed
             ? 2
             : 1;
}

json to_json(const Trial& t) {
  json history = json::array();
  for (const TrialPart& part : t.history) history.push_back(to_json(part));
  json j = to_json(t.part);
  j["variant"] = t.variant;
  j["device"] = name_of(t.device);
  j["history"] = std::move(history);
  return j;
}

Trial trial_from_json(const json& j) {
  Trial t;
  t.variant = read<std::string>(j, "variant");
  t.device = device_from(read<std::string>(j, "device"));
  for (const json& part : list_of(j, "history", 4096)) t.history.push_back(part_from_json(part));
  t.part = part_from_json(j);
  const std::int64_t world = t.part.cases.front().world;
  // A subgroup's case is the second of its drive.
  const auto same = [&](const TrialPart& part) {
    return std::all_of(part.cases.begin(), part.cases.end(), [&](const Case& c) {
      return part.drive == Drive::groups && &c != part.cases.data() ? c.world <= world : c.world == world;
    });
  };
  if (!std::all_of(t.history.begin(), t.history.end(), same)) refuse("the history has another world than the trial");
  if (!same(t.part)) refuse("the cases are of several worlds");
  return t;
}

Trial read_trial(const std::string& path) {
  // Looked at before it is opened: a pipe would wait for its writer.
  std::error_code error;
  std::ifstream file;
  if (std::filesystem::is_regular_file(path, error)) file.open(path);
  if (!file.is_open()) refuse("cannot read the trial " + path + "; name a file that `assay check` wrote");
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  try {
    return trial_from_json(parse_strict(text, path));
  } catch (const std::exception& why) {
    refuse(path + " is not a trial: " + why.what());
  }
}

std::string digest(const Trial& t) { return sha256_hex(canonical(to_json(t))); }

}  // namespace assay
