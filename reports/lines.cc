#include "reports/lines.hpp"

#include <array>
#include <cstdio>
#include <utility>

#include "harness/result/text.hpp"

namespace assay {
namespace {

// Beside the controls: characters that turn, hide or break text (bidirectional marks, zero widths, separators, tags).
bool is_unprintable(char32_t c) {
  return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0xAD || c == 0x61C || (c >= 0x200B && c <= 0x200F) ||
         (c >= 0x2028 && c <= 0x202E) || (c >= 0x2060 && c <= 0x206F) || c == 0xFEFF || (c >= 0xFFF9 && c <= 0xFFFB) ||
         (c >= 0xE0000 && c <= 0xE007F);
}

std::string escape_of(char32_t c) {
  if (c == '\n') return "\\n";
  if (c == '\r') return "\\r";
  if (c == '\t') return "\\t";
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), c < 0x100 ? "\\x%02x" : "\\u{%x}", static_cast<unsigned>(c));
  return text.data();
}

// The first `count` code points, and the rest.
std::pair<std::string_view, std::string_view> cut(std::string_view text, std::size_t count) {
  std::string_view rest = text;
  for (std::size_t i = 0; i < count && !rest.empty(); ++i) (void)take_code_point(rest);
  return {text.substr(0, text.size() - rest.size()), rest};
}

}  // namespace

std::string painted(std::string_view text, Paint paint, bool colour) {
  constexpr std::array<std::string_view, 6> codes{"", "1", "32", "1;31", "33", "2"};
  const std::string_view code = codes[static_cast<std::size_t>(paint)];
  if (!colour || code.empty() || text.empty()) return std::string(text);
  return "\x1b[" + std::string(code) + "m" + std::string(text) + "\x1b[0m";
}

std::string printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const char32_t c = take_code_point(text);
    if (is_unprintable(c)) {
      out += escape_of(c);
    } else {
      append_code_point(out, c);
    }
  }
  return out;
}

std::size_t columns_of(std::string_view text) {
  std::size_t count = 0;
  for (; !text.empty(); ++count) (void)take_code_point(text);
  return count;
}

std::string padded(std::string_view text, std::size_t columns) {
  std::string out(text);
  const std::size_t width = columns_of(text);
  if (width < columns) out.append(columns - width, ' ');
  return out;
}

std::string shortened(std::string_view text, std::size_t columns) {
  const std::size_t width = columns_of(text);
  if (width <= columns) return std::string(text);
  const std::size_t kept = columns - 3;
  const std::string_view tail = cut(text, width - kept / 2).second;
  return std::string(cut(text, kept - kept / 2).first) + "..." + std::string(tail);
}

std::string wrapped(std::string_view head, std::string_view text) {
  const std::size_t indent = columns_of(head);
  const std::size_t room = report_columns > indent + 20 ? report_columns - indent : 20;
  std::string out(head);
  std::string line;
  const auto flush = [&] {
    out += line + '\n';
    out.append(indent, ' ');
    line.clear();
  };
  while (!text.empty()) {
    const std::size_t space = text.find(' ');
    std::string_view word = text.substr(0, space);
    text = space == std::string_view::npos ? std::string_view() : text.substr(space + 1);
    if (!line.empty() && columns_of(line) + 1 + columns_of(word) > room) flush();
    if (!line.empty()) line += ' ';
    while (columns_of(word) > room) {
      const auto [piece, rest] = cut(word, room);
      line += piece;
      flush();
      word = rest;
    }
    line += word;
  }
  return out + line + '\n';
}

}  // namespace assay
