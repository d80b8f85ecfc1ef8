// The page as a browser reads it: headless Chromium, which ./setup installs on Debian. Skipped where there is none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>

#include "reports/forged_page_test.hpp"
#include "reports/markup_test.hpp"
#include "reports/page.hpp"
#include "reports/render.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kHostile = "</style></code></pre><script>document.title='owned'</script><img src=x onerror=x>\"'";

// What the test's own script finds on a copy of the page, which it tells the frame around it: how far the page
// overflows its window, text without contrast, pictures without a name, and whether anything of the candidate's ran.
constexpr const char* kAudit = R"(<script>
const lum = c => { const [r, g, b] = c.match(/[\d.]+/g).map(Number).map(v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
const ground = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor; if (!/, 0\)$/.test(c)) return c; } return 'rgb(255, 255, 255)'; };
const poor = [];
for (const e of document.querySelectorAll('body *')) {
  if (![...e.childNodes].some(n => n.nodeType == 3 && n.data.trim()) || e.closest('svg, style, .said, .skip')) continue;
  const [a, b] = [lum(getComputedStyle(e).color), lum(ground(e))].sort((x, y) => y - x);
  if ((a + 0.05) / (b + 0.05) < 4.5) poor.push(e.tagName + '.' + e.className + ' ' + ((a + 0.05) / (b + 0.05)).toFixed(2));
}
parent.postMessage({
  overflow: document.documentElement.scrollWidth - innerWidth,
  poor: [...new Set(poor)].join('; '),
  unreachable: [...document.querySelectorAll('.scroll')].filter(e => e.tabIndex != 0).length,
  unnamed: [...document.querySelectorAll('svg:not([aria-hidden])')].filter(e => !e.getAttribute('aria-label')).length,
  ground: getComputedStyle(document.body).backgroundColor,
  loaded: performance.getEntriesByType('resource').length,
  title: document.title
}, '*');
</script></body>)";

std::string browser() {
  for (const char* name : {"chromium", "chromium-browser", "google-chrome"})
    if (std::system((std::string("command -v ") + name + " > /dev/null 2>&1").c_str()) == 0) return name;
  return {};
}

class PageInBrowser : public testing::Test {
 protected:
  void SetUp() override {
    if (!can_render()) GTEST_SKIP() << "this build has no template library";
    program = browser();
    if (program.empty()) GTEST_SKIP() << "there is no chromium: ./setup installs Debian's";
    std::string name = testing::TempDir() + "assay-page-XXXXXX";
    folder = mkdtemp(name.data());
  }
  void TearDown() override {
    if (!folder.empty()) fs::remove_all(folder);
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder + "/" + name, std::ios::binary) << text;
  }
  // What the browser prints of a file of the folder under these options.
  [[nodiscard]] std::string run(const std::string& file, const std::string& options) const {
    const std::string command = "timeout 60 " + program + " --headless --no-sandbox --disable-gpu --hide-scrollbars " +
                                "--user-data-dir=" + folder + "/profile " + options + " file://" + folder + "/" + file +
                                " 2> /dev/null";
    const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
    std::string text;
    std::array<char, 65536> chunk{};
    for (std::size_t n = 0; pipe && (n = fread(chunk.data(), 1, chunk.size(), pipe.get())) > 0;)
      text.append(chunk.data(), n);
    return text;
  }
  // The page with our script in it, which its own policy would not let run, in a frame of this width: a window has a
  // least width, a frame has none.
  [[nodiscard]] std::string audited(std::string page, int width, const std::string& options = "") const {
    const std::string policy = "<meta http-equiv=\"Content-Security-Policy\"";
    const std::size_t at = page.find(policy);
    page.erase(at, page.find('>', at) + 1 - at);
    page.replace(page.rfind("</body>"), 7, kAudit);
    write("page.html", page);
    write("frame.html",
          "<script>onmessage = m => { for (const k in m.data) document.documentElement.setAttribute('data-' "
          "+ k, m.data[k]) }</script><iframe src=page.html style='height:900px;width:" +
              std::to_string(width) + "px'></iframe>");
    return run("frame.html", "--dump-dom --virtual-time-budget=3000" + options);
  }
  static std::string attribute(const std::string& dom, const char* name) {
    const std::vector<std::string> found = matches(dom, (std::string("data-") + name + "=\"([^\"]*)\"").c_str());
    return found.empty() ? "(none)" : found.front();
  }
  std::string program, folder;
};

constexpr const char* kDark = " --blink-settings=preferredColorScheme=0";

TEST_F(PageInBrowser, ReadsTheElementsThatWereWritten) {
  const std::string page = html_page(forged_results(kHostile));
  write("page.html", page);
  const std::string dom = run("page.html", "--dump-dom");
  for (const char* tag : {"<h1", "<h2", "<h3", "<article", "<table", "<caption", "<th ", "<td", "<svg", "<path",
                          "<figure", "<details", "<pre", "<li", "<section", "<a "})
    EXPECT_EQ(count_of(dom, tag), count_of(page, tag)) << tag;
  EXPECT_THAT(dom, Not(HasSubstr("<img")));
  EXPECT_THAT(dom, Not(HasSubstr("<script")));
}

TEST_F(PageInBrowser, FitsAndHasContrastWideAndNarrowLightAndDark) {
  const EarlierRun before{"earlier", forged_earlier()};
  const std::string one = html_page(forged_results()), two = html_page(forged_results(), &before);
  std::vector<std::string> grounds;
  for (const char* scheme : {"", kDark})
    for (const int width : {1280, 390}) {
      for (const std::string& page : {one, two}) {
        const std::string dom = audited(page, width, scheme);
        EXPECT_EQ(attribute(dom, "overflow"), "0") << width << scheme;
        EXPECT_EQ(attribute(dom, "poor"), "") << width << scheme;
        EXPECT_EQ(attribute(dom, "unnamed"), "0");
        EXPECT_EQ(attribute(dom, "unreachable"), "0") << "what scrolls can be reached by keyboard";
        EXPECT_EQ(attribute(dom, "loaded"), "0");
        grounds.push_back(attribute(dom, "ground"));
      }
    }
  EXPECT_NE(grounds.front(), grounds.back());
}

TEST_F(PageInBrowser, RunsNothingOfTheCandidates) {
  const std::string dom = audited(html_page(forged_results(kHostile)), 390);
  EXPECT_THAT(attribute(dom, "title"), HasSubstr("FAIL: "));
  EXPECT_EQ(attribute(dom, "overflow"), "0");
}

TEST_F(PageInBrowser, IsDrawn) {
  const auto shot = [&](const std::string& options) {
    const std::string file = folder + "/page.png";
    fs::remove(file);
    write("page.html", html_page(forged_results()));
    (void)run("page.html", "--window-size=640,480 --screenshot=" + file + options);
    std::ifstream in(file, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  const std::string light = shot(""), dark = shot(kDark);
  ASSERT_GT(light.size(), 5000U);
  EXPECT_EQ(light.substr(1, 3), "PNG");
  EXPECT_NE(light, dark);
}

}  // namespace
}  // namespace assay
