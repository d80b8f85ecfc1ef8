// reports/lines.hpp: lines of text for a terminal: escaping, wrapping, colour.
//
// Promises: printable text holds no control character and nothing that reorders or hides text, so no candidate's
// output can forge a line of a report or speak to the terminal. Widths count code points, not bytes.
// Who calls it: table, failure_text.
//
//   wrapped("  bound: ", printable(why));    // continued under the "w" of why, 100 columns
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace assay {

inline constexpr std::size_t report_columns = 100;

enum class Paint { plain, strong, good, bad, doubt, faint };
// The text as it is where `colour` is false.
[[nodiscard]] std::string painted(std::string_view text, Paint paint, bool colour);

// Control and format characters become \n, \t, \x1b, \u{202e}; ill-formed UTF-8 becomes U+FFFD.
[[nodiscard]] std::string printable(std::string_view text);

[[nodiscard]] std::size_t columns_of(std::string_view text);                      // code points
[[nodiscard]] std::string padded(std::string_view text, std::size_t columns);     // with spaces on the right
[[nodiscard]] std::string shortened(std::string_view text, std::size_t columns);  // the middle gives way to "..."

// One paragraph, broken at spaces and within words that are too long; every line but the first is indented by the
// width of `head`. Ends with a newline.
[[nodiscard]] std::string wrapped(std::string_view head, std::string_view text);

// "host: host model" among `devices` for "host"; the device itself where none says more.
template <class Texts>
[[nodiscard]] std::string described_device(const Texts& devices, const std::string& device) {
  for (const std::string& text : devices) {
    if (text.starts_with(device + ":")) return text;
  }
  return device;
}

}  // namespace assay
