#include "harness/result/text.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>

#include "harness/case/json.hpp"
#include "harness/case/rapid_test.hpp"

namespace assay {
namespace {

TEST(Repaired, LeavesWellFormedTextAlone) {
  for (const std::string text : {"", "plain", "a\tb\n", "\u00e9 \u20ac \U0001F600", "\uFFFD"}) {
    EXPECT_EQ(repaired(text), text);
  }
}

TEST(Repaired, EachIllFormedSequenceGivesOneMarkAndKeepsWhatFollows) {
  EXPECT_EQ(repaired("a\xFF"
                     "b"),
            "a\uFFFDb");
  EXPECT_EQ(repaired("\x80"), "\uFFFD");
  EXPECT_EQ(repaired("\xC3("), "\uFFFD(");              // cut short by ASCII
  EXPECT_EQ(repaired("\xE2\x82"), "\uFFFD");            // cut short by the end
  EXPECT_EQ(repaired("\xC0\xAF"), "\uFFFD\uFFFD");      // overlong '/': no lead byte, so two mistakes
  EXPECT_EQ(repaired("\xE0\x80\xAF"), "\uFFFD");        // overlong in three bytes
  EXPECT_EQ(repaired("\xED\xA0\x80!"), "\uFFFD!");      // a surrogate
  EXPECT_EQ(repaired("\xF4\x90\x80\x80!"), "\uFFFD!");  // above U+10FFFF
  EXPECT_EQ(repaired("\xE2\xC3\xA9"), "\uFFFD\u00e9");  // a lead byte inside a sequence starts anew
}

TEST(Repaired, IsWellFormedForAnyBytesAndDoesNothingTwice) {
  holds("repaired text is UTF-8", 2000, [](const std::string& bytes) {
    const std::string once = repaired(bytes);
    RC_ASSERT(is_utf8(once));
    RC_ASSERT(repaired(once) == once);
  });
}

TEST(CodePoints, TakenAndAppendedGiveTheSameText) {
  std::string text;
  for (const char32_t c : {0x0u, 0x7Fu, 0x80u, 0x7FFu, 0x800u, 0xD7FFu, 0xE000u, 0xFFFFu, 0x10000u, 0x10FFFFu}) {
    text.clear();
    append_code_point(text, c);
    std::string_view rest = text;
    EXPECT_EQ(take_code_point(rest), c);
    EXPECT_TRUE(rest.empty());
  }
}

TEST(NumberText, SpellsWhatJsonCannotHold) {
  EXPECT_EQ(number_text(std::nan("")), "nan");
  EXPECT_EQ(number_text(-std::nan("")), "nan");
  EXPECT_EQ(number_text(std::numeric_limits<double>::infinity()), "inf");
  EXPECT_EQ(number_text(-std::numeric_limits<double>::infinity()), "-inf");
  EXPECT_EQ(number_text(-0.0), "-0");
}

TEST(NumberText, ReadsBackAsTheSameDouble) {
  EXPECT_EQ(number_text(0.1), "0.1");
  holds("shortest text reads back", 500,
        [](double value) { RC_ASSERT(std::strtod(number_text(value).c_str(), nullptr) == value); });
}

}  // namespace
}  // namespace assay
