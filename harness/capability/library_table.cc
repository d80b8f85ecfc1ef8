#include "harness/capability/library_table.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/case/json.hpp"

namespace assay {
namespace {

using nlohmann::json;

constexpr std::size_t library_end = offsetof(assay_library, variant_count) + sizeof(assay_library::variant_count);
constexpr std::size_t version_end = offsetof(assay_library, abi_version) + sizeof(assay_library::abi_version);
constexpr std::size_t entry_end = offsetof(assay_variant, entry) + sizeof(assay_variant::entry);

// Six bytes is the longest escape of one byte in JSON.
constexpr std::size_t description_limit = 6 * table_total_limit + table_variant_limit * 1024;

enum class TextKind { name, capabilities };

bool is_text(std::string_view text, TextKind kind) {
  if (!is_utf8(text)) return false;
  return std::none_of(text.begin(), text.end(), [&](char c) {
    const bool space = c == '\t' || c == '\n' || c == '\r';
    return c == '\x7F' || (static_cast<unsigned char>(c) < 0x20 && !(space && kind == TextKind::capabilities));
  });
}

constexpr std::size_t limit_of(TextKind kind) {
  return kind == TextKind::capabilities ? table_capabilities_limit : table_text_limit;
}

class TextReader {
 public:
  TableText read(const char* text, TextKind kind = TextKind::name) {
    if (!text) return {};
    const std::size_t limit = limit_of(kind);
    const std::size_t length = strnlen(text, limit + 1);
    if (length > limit) return {std::nullopt, TextFault::too_long};
    if (length > left_) return {std::nullopt, TextFault::over_total};
    const std::string_view view(text, length);
    if (!is_text(view, kind)) return {std::nullopt, TextFault::not_text};
    left_ -= length;
    return {std::string(view), TextFault::none};
  }

 private:
  std::size_t left_ = table_total_limit;
};

VariantDescription describe_variant(const assay_variant* row, TextReader& texts) {
  VariantDescription out;
  if (!row) return out;
  out.present = true;
  out.size = row->size;
  out.complete = out.size >= entry_end;
  if (!out.complete) return out;
  const assay_variant variant = read_variant(*row);
  out.flags = variant.flags;
  out.device_type = variant.device_type;
  out.slot = texts.read(variant.slot);
  out.id = texts.read(variant.id);
  out.signature = texts.read(variant.signature);
  out.capabilities = texts.read(variant.capabilities, TextKind::capabilities);
  out.has_entry = variant.entry.any != nullptr;
  out.has_workspace = variant.workspace != nullptr;
  out.has_init = variant.init != nullptr;
  out.has_destroy = variant.destroy != nullptr;
  out.has_prepare = variant.prepare != nullptr;
  out.has_release = variant.release != nullptr;
  return out;
}

constexpr std::array<std::string_view, 4> fault_names = {"none", "too_long", "not_text", "over_total"};

json text_json(const TableText& text) {
  if (text.fault != TextFault::none) return json{{"fault", fault_names[static_cast<std::size_t>(text.fault)]}};
  return text.value ? json(*text.value) : json();
}

// Reads one object of a fixed set of keys, all of which are taken.
class ObjectReader {
 public:
  ObjectReader(const json& object, std::string where, std::initializer_list<std::string_view> keys)
      : object_(object), where_(std::move(where)) {
    if (!object.is_object()) fail("is not an object");
    for (const std::string_view key : keys) {
      if (!object.contains(key)) fail("lacks " + std::string(key));
    }
    if (object.size() != keys.size()) fail("has keys that a description does not have");
  }

  bool flag(const char* key) const {
    if (!object_[key].is_boolean()) fail(std::string(key) + " is not true or false");
    return object_[key].get<bool>();
  }
  template <class T>
  T number(const char* key) const {
    const json& value = object_[key];
    bool fits = value.is_number_integer();
    if (fits && value.is_number_unsigned()) {
      fits = value.get<std::uint64_t>() <= static_cast<std::uint64_t>(std::numeric_limits<T>::max());
    } else if (fits) {
      fits = value.get<std::int64_t>() >= static_cast<std::int64_t>(std::numeric_limits<T>::min()) &&
             value.get<std::int64_t>() <= static_cast<std::int64_t>(std::numeric_limits<T>::max());
    }
    if (!fits) fail(std::string(key) + " is not an integer of its width");
    return value.get<T>();
  }
  TableText text(const char* key, TextKind kind = TextKind::name) const {
    const json& value = object_[key];
    if (value.is_null()) return {};
    if (value.is_string()) {
      const auto& string = value.get_ref<const std::string&>();
      if (string.size() > limit_of(kind) || !is_text(string, kind)) fail(std::string(key) + " breaks its bounds");
      return {string, TextFault::none};
    }
    const ObjectReader fault(value, where_ + ", " + key, {"fault"});
    const json& name = value["fault"];
    for (std::size_t i = 1; i < fault_names.size(); ++i) {
      if (name == fault_names[i]) return {std::nullopt, static_cast<TextFault>(i)};
    }
    fail(std::string(key) + " has an unknown fault");
  }
  const json& list(const char* key) const {
    if (!object_[key].is_array()) fail(std::string(key) + " is not a list");
    return object_[key];
  }
  [[noreturn]] void fail(const std::string& why) const { throw JsonError(JsonFault::type, where_ + " " + why); }

 private:
  const json& object_;
  std::string where_;
};

}  // namespace

assay_variant read_variant(const assay_variant& row) {
  assay_variant out = {};
  const auto* from = reinterpret_cast<const char*>(&row);
  auto* to = reinterpret_cast<char*>(&out);
  std::memcpy(to, from, entry_end);
  // A size that ends inside a pointer covers no part of it.
  for (const std::size_t at :
       {offsetof(assay_variant, workspace), offsetof(assay_variant, init), offsetof(assay_variant, destroy),
        offsetof(assay_variant, prepare), offsetof(assay_variant, release)}) {
    if (row.size >= at + sizeof(void*)) std::memcpy(to + at, from + at, sizeof(void*));
  }
  return out;
}

LibraryDescription describe(const assay_library* table) {
  LibraryDescription out;
  if (!table) return out;
  out.present = true;
  out.size = table->size;
  if (out.size < version_end) return out;
  out.abi_version = table->abi_version;
  // Another version may lay out the rest in another way.
  out.complete = out.abi_version == ASSAY_ABI_VERSION && out.size >= library_end;
  if (!out.complete) return out;
  TextReader texts;
  out.name = texts.read(table->name);
  out.version = texts.read(table->version);
  out.variant_count = table->variant_count;
  out.has_variants = table->variants != nullptr;
  if (!out.has_variants) return out;
  const std::uint32_t count = std::min(out.variant_count, table_variant_limit);
  out.variants.reserve(count);
  for (std::uint32_t i = 0; i < count; ++i) out.variants.push_back(describe_variant(table->variants[i], texts));
  return out;
}

json describe_json(const LibraryDescription& library) {
  json variants = json::array();
  for (const VariantDescription& v : library.variants) {
    variants.push_back({{"present", v.present},
                        {"size", v.size},
                        {"complete", v.complete},
                        {"flags", v.flags},
                        {"device_type", v.device_type},
                        {"slot", text_json(v.slot)},
                        {"id", text_json(v.id)},
                        {"signature", text_json(v.signature)},
                        {"capabilities", text_json(v.capabilities)},
                        {"has_entry", v.has_entry},
                        {"has_workspace", v.has_workspace},
                        {"has_init", v.has_init},
                        {"has_destroy", v.has_destroy},
                        {"has_prepare", v.has_prepare},
                        {"has_release", v.has_release}});
  }
  return {{"present", library.present},
          {"size", library.size},
          {"abi_version", library.abi_version},
          {"complete", library.complete},
          {"name", text_json(library.name)},
          {"version", text_json(library.version)},
          {"variant_count", library.variant_count},
          {"has_variants", library.has_variants},
          {"variants", std::move(variants)}};
}

LibraryDescription library_from_json(std::string_view text) {
  const json given = parse_strict(text, "library description", description_limit);
  const ObjectReader top(
      given, "library description",
      {"present", "size", "abi_version", "complete", "name", "version", "variant_count", "has_variants", "variants"});
  LibraryDescription out;
  out.present = top.flag("present");
  out.size = top.number<std::uint32_t>("size");
  out.abi_version = top.number<std::uint32_t>("abi_version");
  out.complete = top.flag("complete");
  out.name = top.text("name");
  out.version = top.text("version");
  out.variant_count = top.number<std::uint32_t>("variant_count");
  out.has_variants = top.flag("has_variants");
  const json& rows = top.list("variants");
  const std::uint32_t told = out.has_variants ? std::min(out.variant_count, table_variant_limit) : 0;
  if (rows.size() != told) top.fail("describes another number of variants than it counts");
  for (const json& row : rows) {
    const ObjectReader object(
        row, "library description, variant " + std::to_string(out.variants.size()),
        {"present", "size", "complete", "flags", "device_type", "slot", "id", "signature", "capabilities", "has_entry",
         "has_workspace", "has_init", "has_destroy", "has_prepare", "has_release"});
    VariantDescription v;
    v.present = object.flag("present");
    v.size = object.number<std::uint32_t>("size");
    v.complete = object.flag("complete");
    v.flags = object.number<std::uint32_t>("flags");
    v.device_type = object.number<std::int32_t>("device_type");
    v.slot = object.text("slot");
    v.id = object.text("id");
    v.signature = object.text("signature");
    v.capabilities = object.text("capabilities", TextKind::capabilities);
    v.has_entry = object.flag("has_entry");
    v.has_workspace = object.flag("has_workspace");
    v.has_init = object.flag("has_init");
    v.has_destroy = object.flag("has_destroy");
    v.has_prepare = object.flag("has_prepare");
    v.has_release = object.flag("has_release");
    out.variants.push_back(std::move(v));
  }
  return out;
}

}  // namespace assay
