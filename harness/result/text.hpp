// harness/result/text.hpp: text of unknown origin made safe to write down.
//
// Promises: total on any bytes; what comes out is well-formed UTF-8. Each ill-formed sequence gives one U+FFFD and
// swallows nothing of what follows it. Not promised: that the original bytes can be recovered.
// Who calls it: results and reports, for everything that a candidate, a path or a worker's output may hold.
//
//   repaired("a\xFF" "b");     // "a\uFFFDb"
//   number_text(0.1f - 0.1);   // "1.4901161138336505e-09"
#pragma once

#include <string>
#include <string_view>

namespace assay {

// Takes one code point off the front of `rest`, which must not be empty.
[[nodiscard]] char32_t take_code_point(std::string_view& rest) noexcept;
void append_code_point(std::string& text, char32_t code_point);
[[nodiscard]] std::string repaired(std::string_view bytes);

// Shortest text that reads back as the same double; "nan", "inf", "-inf".
[[nodiscard]] std::string number_text(double value);

}  // namespace assay
