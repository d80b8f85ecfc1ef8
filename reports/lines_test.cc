#include "reports/lines.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "harness/result/forged_test.hpp"
#include "harness/result/text.hpp"

namespace assay {
namespace {

TEST(Printable, EscapesWhatSpeaksToATerminalOrReordersText) {
  EXPECT_EQ(printable("a\x1b[31mb\r\n\t"), "a\\x1b[31mb\\r\\n\\t");
  EXPECT_EQ(printable(std::string("\0", 1)), "\\x00");
  EXPECT_EQ(printable("\u009b31m"), "\\x9b31m");  // the C1 form of the same escape
  EXPECT_EQ(printable("x\u202egpj.exe"), "x\\u{202e}gpj.exe");
  EXPECT_EQ(printable("\u200b\u2066\U000E0041"), "\\u{200b}\\u{2066}\\u{e0041}");
  EXPECT_EQ(printable("\xFF\u00e9"), "\uFFFD\u00e9");
}

TEST(Printable, AnyBytesGiveOneLineOfUtf8) {
  holds("printable text is one line", 1000, [](const std::string& bytes) {
    const std::string text = printable(bytes);
    RC_ASSERT(repaired(text) == text);
    for (const char c : text) RC_ASSERT(static_cast<unsigned char>(c) >= 0x20 && c != 0x7F);
    RC_ASSERT(printable(text) == text);
  });
}

TEST(Wrapped, ContinuesUnderTheTextAndKeepsEveryWord) {
  const std::string text = wrapped("  bound: ", std::string(60, 'a') + " " + std::string(60, 'b') + " c");
  EXPECT_EQ(text, "  bound: " + std::string(60, 'a') + "\n" + "         " + std::string(60, 'b') + " c\n");
  EXPECT_EQ(wrapped("x: ", ""), "x: \n");
}

TEST(Wrapped, FitsTheColumnsAndLosesNothing) {
  holds("wrapped lines fit", 500, [] {
    const auto letters =
        *rc::gen::container<std::vector<std::string>>(rc::gen::element<std::string>("a", "\u00e9", " "));
    std::string text;
    for (const std::string& letter : letters) text += letter + letter + letter + letter + letter;
    std::istringstream lines(wrapped("head: ", text));
    std::string kept;
    for (std::string line; std::getline(lines, line);) {
      RC_ASSERT(columns_of(line) <= report_columns);
      kept += line.substr(6);
    }
    const auto without_spaces = [](std::string s) {
      std::erase(s, ' ');
      return s;
    };
    RC_ASSERT(without_spaces(kept) == without_spaces(text));
  });
}

TEST(Shortened, GivesUpTheMiddle) {
  EXPECT_EQ(shortened("abcdefghij", 10), "abcdefghij");
  EXPECT_EQ(shortened("abcdefghijk", 10), "abcd...ijk");
  EXPECT_EQ(columns_of(shortened("\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9", 7)), 7U);
}

TEST(Painted, IsPlainUnlessAskedFor) {
  EXPECT_EQ(painted("FAIL", Paint::bad, false), "FAIL");
  EXPECT_EQ(painted("FAIL", Paint::bad, true), "\x1b[1;31mFAIL\x1b[0m");
  EXPECT_EQ(painted("x", Paint::plain, true), "x");
  EXPECT_EQ(painted("", Paint::bad, true), "");
}

TEST(DescribedDevice, PrefersTheRunsOwnWords) {
  const std::vector<std::string> devices{"host: host model", "cuda: NVIDIA H200"};
  EXPECT_EQ(described_device(devices, "cuda"), "cuda: NVIDIA H200");
  EXPECT_EQ(described_device(devices, "cud"), "cud");
}

}  // namespace
}  // namespace assay
