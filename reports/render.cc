#include "reports/render.hpp"

#include <stdexcept>
#include <string_view>

#include "harness/result/text.hpp"
#include "reports/lines.hpp"

#if defined(ASSAY_HAVE_MUSTACHE)
#include <kainjow/mustache.hpp>
#endif

namespace assay {

#if defined(ASSAY_HAVE_MUSTACHE)
namespace {

using kainjow::mustache::data;

std::string entity(char c) { return "&#" + std::to_string(static_cast<int>(c)) + ";"; }

std::string html_escaped(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    for (const char c : printable(text.substr(0, end)))
      out += c == '&' || c == '<' || c == '>' || c == '"' || c == '\'' ? entity(c) : std::string(1, c);
    if (end == std::string_view::npos) break;
    out += '\n';
    text.remove_prefix(end + 1);
  }
  return out;
}

// As entities: whatever marks text up, begins a mention, or makes a link of a bare address.
std::string markdown_escaped(std::string_view text) {
  constexpr std::string_view marks = "&<>\"'`*[]{}|\\~#@!$^";
  std::string line(text);
  for (char& c : line)
    if (c == '\n') c = ' ';
  const auto is_word = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
  };
  const std::string shown = printable(line);
  std::string out;
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const char c = shown[i];
    const bool link = (c == '/' && out.ends_with(':')) || (c == '.' && (out.ends_with("www") || out.ends_with("WWW")));
    // Within a word it marks nothing up.
    const bool edge = c == '_' && !(i > 0 && is_word(shown[i - 1]) && i + 1 < shown.size() && is_word(shown[i + 1]));
    out += link || edge || marks.find(c) != std::string_view::npos ? entity(c) : std::string(1, c);
  }
  return out;
}

data data_of(const nlohmann::json& j) {
  if (j.is_object()) {
    kainjow::mustache::object object;
    for (const auto& [key, value] : j.items()) object[key] = data_of(value);
    return object;
  }
  if (j.is_array()) {
    kainjow::mustache::list list;
    for (const nlohmann::json& item : j) list.push_back(data_of(item));
    return list;
  }
  if (j.is_boolean()) return data(j.get<bool>());
  if (j.is_number_integer()) return data(j.dump());
  const auto& text = j.get_ref<const std::string&>();
  return text.empty() ? data(false) : data(text);
}

}  // namespace

bool can_render() noexcept { return true; }

std::string rendered(const std::string& text, const nlohmann::json& model, Markup markup) {
  kainjow::mustache::mustache page(text);
  if (!page.is_valid()) throw std::logic_error("a template of ours is none: " + page.error_message());
  page.set_custom_escape([markup](const std::string& value) {
    return markup == Markup::html ? html_escaped(value) : markdown_escaped(value);
  });
  return page.render(data_of(model));
}

#else

bool can_render() noexcept { return false; }

std::string rendered(const std::string&, const nlohmann::json&, Markup) {
  throw std::logic_error("this build has no template library");
}

#endif

}  // namespace assay
