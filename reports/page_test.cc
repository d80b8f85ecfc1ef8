#include "reports/page.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "reports/cell_picture.hpp"
#include "reports/forged_page_test.hpp"
#include "reports/markup_test.hpp"
#include "reports/render.hpp"

namespace assay {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kHostile = "</code></pre><script>alert(1)</script><img src=x onerror=a>\"'&{{css}}\n\x1b[31m";

class Page : public testing::Test {
 protected:
  void SetUp() override {
    if (!can_render()) GTEST_SKIP() << "this build has no template library";
  }
};

TEST_F(Page, IsBalancedAndLoadsNothing) {
  const EarlierRun before{"earlier", forged_earlier()};
  for (const std::string& page : {html_page(forged_results()), html_page(forged_results(), &before)}) {
    EXPECT_EQ(unbalanced(page), "");
    for (const char* word : {"<script", "src=", "http:", "https:", "@import", "<link", "javascript:"})
      EXPECT_THAT(page, Not(HasSubstr(word)));
    EXPECT_THAT(page, HasSubstr("default-src 'none'"));
    EXPECT_EQ(page.find("{{"), std::string::npos);
  }
}

TEST_F(Page, SaysWhenARunWasTakenUpAgain) {
  RunResults run = forged_results();
  EXPECT_THAT(html_page(run), Not(HasSubstr("resumed")));
  run.resumes = {{"2026-11-30T01:00:00Z", 1}, {"2026-11-30T02:00:00Z", 7}};
  for (const char* text : {"resumed", "2026-11-30T01:00:00Z, 1 unit kept", "2026-11-30T02:00:00Z, 7 units kept"})
    EXPECT_THAT(html_page(run), HasSubstr(text));
}

TEST_F(Page, LinksLeadToIdsThatAreThereOnce) {
  const EarlierRun before{"earlier", forged_earlier()};
  const std::string page = html_page(forged_results(), &before);
  const std::vector<std::string> ids = matches(page, " id=\"([^\"]*)\"");
  EXPECT_EQ(std::set<std::string>(ids.begin(), ids.end()).size(), ids.size());
  for (const std::string& link : matches(page, "href=\"#([^\"]*)\"")) EXPECT_THAT(ids, Contains(link));
  for (const std::string& label : matches(page, "aria-labelledby=\"([^\"]*)\"")) EXPECT_THAT(ids, Contains(label));
}

TEST_F(Page, HeadingsDescendOneLevelAtATime) {
  int last = 0;
  for (const std::string& level : matches(html_page(forged_results()), "<h([1-6])")) {
    const int now = level[0] - '0';
    EXPECT_LE(now, last + 1);
    last = now;
  }
  EXPECT_GT(last, 0);
}

TEST_F(Page, TablesHaveCaptionsAndHeadersAScope) {
  const std::string page = html_page(forged_results());
  EXPECT_EQ(count_of(page, "<table"), count_of(page, "<caption>"));
  EXPECT_EQ(count_of(page, "<th "), count_of(page, "<th scope="));
  EXPECT_EQ(count_of(page, "<th>"), 0U);
}

// Whatever a candidate says, the page has the elements that it has with plain text.
TEST_F(Page, TextOfACandidateAddsNoElement) {
  const EarlierRun plain{"earlier", forged_earlier()}, hostile{kHostile, forged_earlier(kHostile)};
  EXPECT_EQ(skeleton(html_page(forged_results(kHostile), &hostile)), skeleton(html_page(forged_results(), &plain)));
  EXPECT_THAT(html_page(forged_results(kHostile)), Not(HasSubstr("<img")));
}

TEST_F(Page, SaysVerdictFailureCommandTrialAndPicture) {
  const std::string page = html_page(forged_results());
  EXPECT_THAT(page, HasSubstr("<strong>FAIL</strong>"));
  EXPECT_THAT(page, HasSubstr("norm.rmsnorm: write.every_cell"));
  EXPECT_THAT(page, HasSubstr("assay replay out/trials/norm.rmsnorm-1.json"));
  EXPECT_THAT(page, HasSubstr("hidden=9 rows=2 bf16"));
  EXPECT_EQ(count_of(page, "<svg role=\"img\""), 2U);
  EXPECT_THAT(page, HasSubstr("never written: still what the output was poisoned with"));
  EXPECT_THAT(page, HasSubstr("written outside the cells"));
  // The rule failed for one dtype of two, and its cell leads to the article.
  EXPECT_THAT(page, HasSubstr("<a href=\"#failure-1\">"));
  EXPECT_THAT(page, HasSubstr("<span class=\"soft\">bf16</span>"));
}

TEST_F(Page, SaysWhichEdgesAndRecipesNoCaseMet) {
  const std::string page = html_page(forged_results());
  EXPECT_THAT(page, HasSubstr("<li><b>0</b> 4</li><li class=\"never\"><b>7</b> never</li><li><b>other</b> 6</li>"));
  EXPECT_THAT(page, HasSubstr("<li class=\"never\"><b>tag</b> never</li>"));
  EXPECT_THAT(page, HasSubstr("3 of 5 edges, recipes and knobs met"));
}

TEST_F(Page, ResultsWithoutPicturesOrCoverageStillMakeAPage) {
  RunResults r = read_results(ASSAY_FIXTURES "/results_golden.jsonl");
  EXPECT_EQ(unbalanced(html_page(r)), "");
  EXPECT_THAT(html_page(r), HasSubstr("do not say which edges"));
  EXPECT_THAT(html_page(read_results(ASSAY_FIXTURES "/results_golden_pass.jsonl")), HasSubstr("<strong>PASS</strong>"));
  RunResults begun;
  begun.has_run = true;
  begun.run = forged_run();
  EXPECT_EQ(unbalanced(html_page(begun)), "");
  EXPECT_THAT(html_page(begun), HasSubstr("the run did not end"));
}

TEST_F(Page, ManyColumnsAreByNameAndTheirNamesStandUpright) {
  RunResults r = forged_results();
  EXPECT_THAT(html_page(r), HasSubstr("class=\"matrix\""));
  for (const char* slot : {"f", "e", "d", "c", "b"}) {
    r.rules.push_back(forged_rule("write.binding", Verdict::pass));
    r.rules.back().subject.slot = slot;
  }
  const std::string page = html_page(r);
  EXPECT_THAT(page, HasSubstr("class=\"matrix many\""));
  EXPECT_LT(page.find("<b>b</b>"), page.find("<b>f</b>"));
  EXPECT_LT(page.find("<b>f</b>"), page.find("<b>norm.rmsnorm</b>"));
}

TEST_F(Page, TwoRunsSayWhatChanged) {
  const EarlierRun before{"earlier", forged_earlier()};
  const std::string page = html_page(forged_results(), &before);
  EXPECT_THAT(page, HasSubstr("<th scope=\"row\">write.every_cell</th><td>norm.rmsnorm rows host</td><td>bf16</td>"
                              "<td class=\"pass\">PASS</td><td class=\"fail\"><a href=\"#failure-1\">FAIL</a></td>"));
  EXPECT_THAT(page, HasSubstr("Fails no longer: <strong>number.bound</strong>"));
  EXPECT_THAT(page, HasSubstr("new since the earlier run"));
  const EarlierRun same{"earlier", forged_results()};
  EXPECT_THAT(html_page(forged_results(), &same), HasSubstr("Every rule has the same verdict in both runs"));
  EXPECT_THAT(html_page(forged_results(), &same), HasSubstr("in both runs"));
}

TEST_F(Page, MarkdownSaysTheSameInShort) {
  const EarlierRun before{"earlier", forged_earlier()};
  const std::string text = markdown_summary(forged_results(), &before);
  EXPECT_THAT(text, HasSubstr("## assay: FAIL\n"));
  EXPECT_THAT(text, HasSubstr("| norm.rmsnorm rows host | 3 | 1 | 1 | 1 |\n"));
  EXPECT_THAT(text, HasSubstr("| write.every_cell | norm.rmsnorm rows host | bf16 | PASS | FAIL |\n"));
  EXPECT_THAT(text, HasSubstr("- replay: <code>assay replay out/trials"));
  const std::string hostile = markdown_summary(forged_results(kHostile));
  EXPECT_THAT(hostile, Not(HasSubstr("<script")));
  EXPECT_EQ(count_of(hostile, "\n|"), count_of(markdown_summary(forged_results()), "\n|"));
}

TEST_F(Page, ManyFailuresAreSummarisedInPart) {
  RunResults r = forged_results();
  const FailureRecord first = r.failures.front();
  while (r.failures.size() < summarised_failures + 3) {
    r.failures.push_back(first);
    r.failures.back().subject.rule = "number.r" + std::to_string(r.failures.size());
    r.failures.back().trial_text += std::to_string(r.failures.size());
  }
  EXPECT_THAT(markdown_summary(r), HasSubstr("And 3 more in the full report."));
  EXPECT_EQ(count_of(html_page(r), "<article "), r.failures.size());
}

TEST(CellPicture, NeighboursOfOneMarkAreOneBox) {
  const nlohmann::json picture = cell_picture(forged_picture(0, {"..uu", "u..."}), false);
  ASSERT_EQ(picture["paths"].size(), 2U);
  EXPECT_EQ(picture["paths"][0]["mark"], "u");
  EXPECT_EQ(picture["paths"][0]["d"], "M32 8h32v16h-32zM0 24h16v16h-16z");
  EXPECT_EQ(picture["paths"][1]["mark"], "right");
  EXPECT_EQ(picture["caption"], "Shrunk trial, replay 2: out (bf16, 2 x 4), 3 cells off");
}

TEST(CellPicture, TellsTheRankAndWhatASquareStandsFor) {
  CellMap map = forged_picture(2, {"4"});
  map.shape = {100, 3, 7};
  map.caught_in = "eager";
  EXPECT_EQ(cell_picture(map, true)["caption"],
            "As first caught, rank 2, replay 2: out (bf16, 100 x 3 x 7), 3 cells off; a square is up to 300 x 7 cells "
            "and shows the worst");
}

TEST(CellPicture, OnlyMarksThatOccurAreInTheKey) {
  const std::vector<CellMap> maps{forged_picture(0, {"u."}), forged_picture(1, {"n."})};
  std::vector<std::string> marks;
  for (const nlohmann::json& mark : marks_in(maps)) marks.push_back(mark["mark"]);
  EXPECT_THAT(marks, ElementsAre("u", "n", "right"));
}

TEST(CellPicture, AnOutputWithoutCellsIsAPictureToo) {
  CellMap map;
  map.stray_bytes = 1;
  map.stray_after = true;
  EXPECT_EQ(cell_picture(map, false)["paths"].size(), 1U);
}

}  // namespace
}  // namespace assay
