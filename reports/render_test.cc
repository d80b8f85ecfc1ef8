#include "reports/render.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

#include "harness/result/forged_test.hpp"

namespace assay {
namespace {

#define SKIP_WITHOUT_LIBRARY() \
  if (!can_render()) GTEST_SKIP() << "this build has no template library"

TEST(Render, EmptyTextsAndListsSkipTheirSections) {
  SKIP_WITHOUT_LIBRARY();
  const std::string page = "{{#a}}A{{/a}}{{#b}}B{{/b}}{{#c}}C{{/c}}{{#d}}[{{.}}]{{/d}}{{^a}}none{{/a}}{{n}}";
  EXPECT_EQ(rendered(page, {{"a", ""}, {"b", "x"}, {"c", false}, {"d", {"1", "2"}}, {"n", 7}}, Markup::html),
            "B[1][2]none7");
}

TEST(Render, HtmlOfACandidateStaysText) {
  SKIP_WITHOUT_LIBRARY();
  EXPECT_EQ(rendered("{{x}}", {{"x", "<b a=\"1\">&'\n{{y}}\x1b[1m\u202e"}}, Markup::html),
            "&#60;b a=&#34;1&#34;&#62;&#38;&#39;\n{{y}}\\x1b[1m\\u{202e}");
}

TEST(Render, MarkdownOfACandidateStaysText) {
  SKIP_WITHOUT_LIBRARY();
  EXPECT_EQ(rendered("{{x}}", {{"x", "*a* [b](http://c) |\n# d_e _f_ @g www.h"}}, Markup::markdown),
            "&#42;a&#42; &#91;b&#93;(http:&#47;/c) &#124; &#35; d_e &#95;f&#95; &#64;g www&#46;h");
}

TEST(Render, NoTextOfAnyBytesAddsMarkup) {
  SKIP_WITHOUT_LIBRARY();
  holds("no < or quote of a value survives", 300, [](const std::string& bytes) {
    const std::string html = rendered("<p title=\"{{x}}\">{{x}}</p>", {{"x", "." + bytes}}, Markup::html);
    RC_ASSERT(std::count(html.begin(), html.end(), '<') == 2);
    RC_ASSERT(std::count(html.begin(), html.end(), '"') == 2);
    const std::string line = rendered("{{x}}", {{"x", "." + bytes}}, Markup::markdown);
    RC_ASSERT(line.find_first_of("\n<>|`*[]") == std::string::npos);
  });
}

TEST(Render, ABrokenTemplateIsOurOwnFault) {
  SKIP_WITHOUT_LIBRARY();
  EXPECT_THROW((void)rendered("{{#a}}", {{"a", "x"}}, Markup::html), std::logic_error);
}

}  // namespace
}  // namespace assay
