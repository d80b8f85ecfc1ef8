#include "harness/case/json.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <system_error>
#include <utility>
#include <vector>

namespace assay {
namespace {

using nlohmann::json;

std::string printable(std::string_view text, std::size_t limit) {
  std::string out;
  for (const char c : text.substr(0, limit)) out += c >= ' ' && c <= '~' ? c : '?';
  if (text.size() > limit) out += "...";
  return out;
}

bool starts_like(std::string_view text, std::string_view word) {
  if (text.size() < word.size()) return false;
  return std::equal(word.begin(), word.end(), text.begin(),
                    [](char a, char b) { return a == (b >= 'A' && b <= 'Z' ? b - 'A' + 'a' : b); });
}

// Builds the value itself: nlohmann's own builder has no hook that sees a duplicate key before it is merged, and none
// that tells an integer too long for 64 bits from a float.
class StrictBuilder final : public nlohmann::json_sax<json> {
 public:
  StrictBuilder(std::string_view text, std::string_view what) : text_(text), what_(what) {}

  json take() { return std::move(result_); }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(std::int64_t value) override { return add(value); }
  bool number_unsigned(std::uint64_t value) override { return add(value); }
  bool number_float(double value, const std::string& raw) override {
    if (raw.find_first_of(".eE") == std::string::npos) {
      fail(JsonFault::integer_range, "integer " + shown(raw) + " does not fit in 64 bits");
    }
    return add(value);
  }
  bool string(std::string& value) override { return add(std::move(value)); }
  bool binary(json::binary_t&) override { fail(JsonFault::type, "binary values are not JSON"); }

  bool start_object(std::size_t) override { return open(json::object()); }
  bool key(std::string& name) override {
    if (stack_.back().value.contains(name)) fail(JsonFault::duplicate_key, "key " + shown(name) + " appears twice");
    stack_.back().key = std::move(name);
    return true;
  }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(json::array()); }
  bool end_array() override { return close(); }

  bool parse_error(std::size_t position, const std::string&, const json::exception& error) override {
    const std::size_t at = std::min(position == 0 ? 0 : position - 1, text_.size());
    const std::string_view before = text_.substr(0, at);
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    const std::size_t newline = before.rfind('\n');
    const std::size_t column = newline == std::string_view::npos ? at + 1 : at - newline;
    JsonFault fault = JsonFault::syntax;
    for (const std::size_t start : {at, at == 0 ? at : at - 1}) {
      if (starts_like(text_.substr(start), "nan") || starts_like(text_.substr(start), "inf")) {
        fault = JsonFault::not_finite;
      }
    }
    std::string why = error.what();
    if (error.id == 406) fault = JsonFault::not_finite;  // nlohmann: number overflow
    if (fault == JsonFault::not_finite) {
      why = "a number has to be finite";
    } else if (const std::size_t marker = why.find("column "); marker != std::string::npos) {
      if (const std::size_t colon = why.find(": ", marker); colon != std::string::npos) why = why.substr(colon + 2);
    }
    throw JsonError(fault, what_ + ", line " + std::to_string(line) + ", column " + std::to_string(column) + ": " +
                               printable(why, 200));
  }

 private:
  struct Level {
    json value;
    std::string key;
  };

  [[noreturn]] void fail(JsonFault fault, const std::string& why) const {
    std::string path;
    for (const Level& level : stack_) {
      path += '/';
      path += level.value.is_array() ? std::to_string(level.value.size()) : level.key;
    }
    // The innermost object is named by itself: its own key is the offender or not yet known.
    if (!stack_.empty() && fault == JsonFault::duplicate_key) path.erase(path.rfind('/'));
    throw JsonError(fault, what_ + ", at " + (path.empty() ? "the top" : printable(path, 120)) + ": " + why);
  }

  bool add(json value) {
    if (stack_.empty()) {
      result_ = std::move(value);
    } else if (Level& level = stack_.back(); level.value.is_array()) {
      level.value.push_back(std::move(value));
    } else {
      level.value[level.key] = std::move(value);
    }
    return true;
  }
  bool open(json empty) {
    if (stack_.size() == json_depth_limit) {
      fail(JsonFault::depth, "nested deeper than " + std::to_string(json_depth_limit) + " levels");
    }
    stack_.push_back({std::move(empty), {}});
    return true;
  }
  bool close() {
    json value = std::move(stack_.back().value);
    stack_.pop_back();
    return add(std::move(value));
  }

  std::string_view text_;
  std::string what_;
  std::vector<Level> stack_;
  json result_;
};

void write_string(const std::string& text, std::string& out) {
  try {
    out += json(text).dump(-1, ' ', false, json::error_handler_t::strict);
  } catch (const json::exception&) {
    throw JsonError(JsonFault::type, "canonical JSON: " + shown(text) + " is not UTF-8");
  }
}

void write(const json& value, std::size_t depth, std::string& out) {
  switch (value.type()) {
    case json::value_t::object:
    case json::value_t::array: {
      if (depth == json_depth_limit) {
        throw JsonError(JsonFault::depth,
                        "canonical JSON: nested deeper than " + std::to_string(json_depth_limit) + " levels");
      }
      const bool object = value.is_object();
      out += object ? '{' : '[';
      bool first = true;
      for (const auto& item : value.items()) {
        if (!first) out += ',';
        first = false;
        if (object) {
          write_string(item.key(), out);
          out += ':';
        }
        write(item.value(), depth + 1, out);
      }
      out += object ? '}' : ']';
      return;
    }
    case json::value_t::string:
      write_string(value.get_ref<const std::string&>(), out);
      return;
    case json::value_t::number_float: {
      const double number = value.get<double>();
      if (!std::isfinite(number)) {
        throw JsonError(JsonFault::not_finite, "canonical JSON: a number has to be finite");
      }
      std::array<char, 32> buffer{};
      const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number).ptr;
      const std::string_view text(buffer.data(), static_cast<std::size_t>(end - buffer.data()));
      out += text;
      if (text.find_first_of(".e") == std::string_view::npos) out += ".0";
      return;
    }
    case json::value_t::binary:
    case json::value_t::discarded:
      throw JsonError(JsonFault::type, "canonical JSON: a binary or discarded value has no text");
    default:
      out += value.dump();
  }
}

}  // namespace

json parse_strict(std::string_view text, std::string_view what, std::size_t size_limit) {
  const std::string name(what);
  if (text.size() > size_limit) {
    throw JsonError(JsonFault::size, name + ": " + std::to_string(text.size()) + " bytes are over the limit of " +
                                         std::to_string(size_limit));
  }
  // nlohmann takes a NUL for the end of its input and skips a byte order mark: what follows, or precedes, would be
  // signed over without having been read.
  if (text.find('\0') != std::string_view::npos) throw JsonError(JsonFault::syntax, name + ": holds a NUL byte");
  if (text.starts_with("\xEF\xBB\xBF")) throw JsonError(JsonFault::syntax, name + ": starts with a byte order mark");
  StrictBuilder builder(text, what);
  if (!json::sax_parse(text.begin(), text.end(), &builder)) throw JsonError(JsonFault::syntax, name + ": is not JSON");
  return builder.take();
}

std::string canonical(const json& value) {
  std::string out;
  write(value, 0, out);
  return out;
}

bool is_utf8(std::string_view text) noexcept {
  std::size_t i = 0;
  while (i < text.size()) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const std::size_t length = lead < 0x80                   ? 1
                               : lead >= 0xC2 && lead < 0xE0 ? 2
                               : (lead & 0xF0) == 0xE0       ? 3
                               : lead >= 0xF0 && lead < 0xF5 ? 4
                                                             : 0;
    if (length == 0 || text.size() - i < length) return false;
    for (std::size_t k = 1; k < length; ++k) {
      const auto byte = static_cast<unsigned char>(text[i + k]);
      unsigned low = 0x80;
      unsigned high = 0xBF;
      if (k == 1) {  // no overlong forms, no surrogates, nothing above U+10FFFF
        if (lead == 0xE0) low = 0xA0;
        if (lead == 0xED) high = 0x9F;
        if (lead == 0xF0) low = 0x90;
        if (lead == 0xF4) high = 0x8F;
      }
      if (byte < low || byte > high) return false;
    }
    i += length;
  }
  return true;
}

std::string shown(std::string_view text) { return '"' + printable(text, 64) + '"'; }

}  // namespace assay
