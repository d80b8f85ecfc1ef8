#include "harness/result/text.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>

#include "harness/case/json.hpp"

namespace assay {
namespace {

constexpr char32_t kReplacement = 0xFFFD;

}  // namespace

char32_t take_code_point(std::string_view& rest) noexcept {
  const auto lead = static_cast<unsigned char>(rest.front());
  const std::size_t length = lead < 0x80   ? 1
                             : lead < 0xC2 ? 0
                             : lead < 0xE0 ? 2
                             : lead < 0xF0 ? 3
                             : lead < 0xF5 ? 4
                                           : 0;
  if (length == 0 || length > rest.size() || !is_utf8(rest.substr(0, length))) {
    rest.remove_prefix(1);
    // What is left of a broken sequence belongs to the same mistake.
    for (std::size_t i = 1; i < length && !rest.empty() && (static_cast<unsigned char>(rest.front()) & 0xC0) == 0x80;
         ++i)
      rest.remove_prefix(1);
    return kReplacement;
  }
  char32_t code = length == 1 ? lead : lead & (0xFFu >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) code = code << 6u | (static_cast<unsigned char>(rest[i]) & 0x3Fu);
  rest.remove_prefix(length);
  return code;
}

void append_code_point(std::string& text, char32_t c) {
  const auto tail = [&](unsigned shift) { text += static_cast<char>(0x80u | (c >> shift & 0x3Fu)); };
  if (c < 0x80) {
    text += static_cast<char>(c);
  } else if (c < 0x800) {
    text += static_cast<char>(0xC0u | c >> 6u);
    tail(0);
  } else if (c < 0x10000) {
    text += static_cast<char>(0xE0u | c >> 12u);
    tail(6);
    tail(0);
  } else {
    text += static_cast<char>(0xF0u | c >> 18u);
    tail(12);
    tail(6);
    tail(0);
  }
}

std::string repaired(std::string_view bytes) {
  if (is_utf8(bytes)) return std::string(bytes);
  std::string text;
  while (!bytes.empty()) append_code_point(text, take_code_point(bytes));
  return text;
}

std::string number_text(double value) {
  if (std::isnan(value)) return "nan";
  std::array<char, 32> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return {buffer.data(), end.ptr};
}

}  // namespace assay
