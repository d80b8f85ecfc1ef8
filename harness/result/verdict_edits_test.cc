// Random edits of a gate's files: every one is refused, with a sentence, and none does anything else.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "harness/case/json.hpp"
#include "harness/catalogue/canonical.hpp"
#include "harness/result/verdict_runs_test.hpp"

namespace assay {
namespace {

using nlohmann::json;
using Draw = std::mt19937_64;

constexpr std::array kNames{"pass", "fail", "no_decision"};
constexpr int kEdits = 10'000;

std::size_t below(Draw& draw, std::size_t end) { return std::uniform_int_distribution<std::size_t>(0, end - 1)(draw); }

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

// Some value within `root`, itself included.
json& somewhere(json& root, Draw& draw) {
  json* at = &root;
  while (at->is_structured() && !at->empty() && below(draw, 6) != 0) {
    auto item = at->begin();
    std::advance(item, static_cast<std::ptrdiff_t>(below(draw, at->size())));
    at = &*item;
  }
  return *at;
}

void change(json& value, Draw& draw) {
  if (value.is_boolean())
    value = !value.get<bool>();
  else if (value.is_number_integer())
    value = value.get<std::int64_t>() + (below(draw, 2) ? 1 : -1);
  else if (value.is_number_float())
    value = value.get<double>() * 2 + 1;
  else if (value.is_string() && below(draw, 2))
    value = value.get<std::string>() + "x";
  else if (value.is_string())
    value = below(draw, 2) ? "PASS" : "none";
  else if (value.is_array() && !value.empty())
    value.erase(below(draw, value.size()));
  else
    value = json{{"verdict", "PASS"}};
}

// One edit of a text; `other` is the same file of another run. Nothing: it does not apply here.
using Edit = std::function<std::optional<std::string>(const std::string& text, const std::string& other, Draw&)>;

std::vector<std::pair<const char*, Edit>> edits() {
  const auto in_line = [](const std::function<std::optional<std::string>(std::string, Draw&)>& edit) -> Edit {
    return [edit](const std::string& text, const std::string&, Draw& draw) -> std::optional<std::string> {
      std::vector<std::string> lines = lines_of_text(text);
      if (lines.empty()) return std::nullopt;
      std::string& line = lines[below(draw, lines.size())];
      auto edited = edit(line, draw);
      if (!edited) return std::nullopt;
      line = *edited;
      return joined(lines);
    };
  };
  const auto in_lines = [](const std::function<void(std::vector<std::string>&, Draw&)>& edit) -> Edit {
    return [edit](const std::string& text, const std::string&, Draw& draw) -> std::optional<std::string> {
      std::vector<std::string> lines = lines_of_text(text);
      if (lines.empty()) return std::nullopt;
      edit(lines, draw);
      return joined(lines);
    };
  };
  const auto in_json = [&](const std::function<void(json&, Draw&)>& edit) {
    return in_line([edit](const std::string& line, Draw& draw) -> std::optional<std::string> {
      json j = json::parse(line);
      edit(j, draw);
      return canonical(j);
    });
  };
  return {
      {"a byte flipped",
       [](std::string text, const std::string&, Draw& draw) -> std::optional<std::string> {
         if (text.empty()) return std::nullopt;
         text[below(draw, text.size())] ^= static_cast<char>(1u << below(draw, 8));
         return text;
       }},
      {"a byte put in",
       [](std::string text, const std::string&, Draw& draw) -> std::optional<std::string> {
         return text.insert(below(draw, text.size() + 1), 1, static_cast<char>(below(draw, 256)));
       }},
      {"bytes cut out",
       [](std::string text, const std::string&, Draw& draw) -> std::optional<std::string> {
         if (text.empty()) return std::nullopt;
         return text.erase(below(draw, text.size()), 1 + below(draw, 400));
       }},
      {"the end cut off",
       [](const std::string& text, const std::string&, Draw& draw) -> std::optional<std::string> {
         if (text.empty()) return std::nullopt;
         return text.substr(0, below(draw, text.size()));
       }},
      {"a line deleted", in_lines([](auto& lines, Draw& draw) {
         lines.erase(lines.begin() + static_cast<int>(below(draw, lines.size())));
       })},
      {"a line twice", in_lines([](auto& lines, Draw& draw) {
         const std::string line = lines[below(draw, lines.size())];
         lines.insert(lines.begin() + static_cast<int>(below(draw, lines.size() + 1)), line);
       })},
      {"two lines swapped", in_lines([](auto& lines, Draw& draw) {
         std::swap(lines[below(draw, lines.size())], lines[below(draw, lines.size())]);
       })},
      {"another run's lines behind",
       [](const std::string& text, const std::string& other, Draw&) -> std::optional<std::string> {
         return text + other;
       }},
      {"another run's line among them",
       [](const std::string& text, const std::string& other, Draw& draw) -> std::optional<std::string> {
         std::vector<std::string> lines = lines_of_text(text), theirs = lines_of_text(other);
         if (lines.empty() || theirs.empty()) return std::nullopt;
         lines[below(draw, lines.size())] = theirs[below(draw, theirs.size())];
         return joined(lines);
       }},
      {"another run's second half",
       [](const std::string& text, const std::string& other, Draw& draw) -> std::optional<std::string> {
         std::vector<std::string> lines = lines_of_text(text), theirs = lines_of_text(other);
         if (lines.empty() || theirs.empty()) return std::nullopt;
         lines.resize(below(draw, lines.size()));
         lines.insert(lines.end(), theirs.begin() + static_cast<int>(below(draw, theirs.size())), theirs.end());
         return joined(lines);
       }},
      {"another run's file",
       [](const std::string&, const std::string& other, Draw&) -> std::optional<std::string> { return other; }},
      {"a value changed", in_json([](json& j, Draw& draw) { change(somewhere(j, draw), draw); })},
      {"a failure made a pass", in_line([](std::string line, Draw&) -> std::optional<std::string> {
         for (const auto& [from, to] : {std::pair("\"FAIL\"", "\"PASS\""), {"\"NO_DECISION\"", "\"PASS\""}})
           if (const auto at = line.find(from); at != std::string::npos)
             return line.replace(at, std::string(from).size(), to);
         return std::nullopt;
       })},
      {"a key removed", in_json([](json& j, Draw& draw) {
         json& at = somewhere(j, draw);
         if (!at.is_object() || at.empty()) return;
         auto key = at.begin();
         std::advance(key, static_cast<std::ptrdiff_t>(below(draw, at.size())));
         at.erase(key);
       })},
      {"a key more", in_json([](json& j, Draw& draw) {
         json& at = somewhere(j, draw);
         if (at.is_object()) at["extra"] = 1;
       })},
      {"a number that no field holds", in_line([](std::string line, Draw& draw) -> std::optional<std::string> {
         const std::size_t digit = line.find_first_of("0123456789", below(draw, line.size()));
         if (digit == std::string::npos) return std::nullopt;
         const char* numbers[] = {"1e999", "-1", "18446744073709551616", "0.5", "NaN", "1e-400", "00"};
         return line.replace(digit, 1, numbers[below(draw, std::size(numbers))]);
       })},
      {"a line of 20 MiB", in_line([](std::string line, Draw& draw) -> std::optional<std::string> {
         // Once in a while: reading them takes its time.
         if (below(draw, 20) != 0) return std::nullopt;
         return line.insert(1, 20u << 20u, below(draw, 2) ? ' ' : '[');
       })},
      {"brackets without end", in_line([](std::string line, Draw& draw) -> std::optional<std::string> {
         return line.insert(below(draw, line.size() + 1), 10'000, below(draw, 2) ? '[' : '{');
       })},
      {"ill-formed UTF-8", in_line([](std::string line, Draw& draw) -> std::optional<std::string> {
         const char* bytes[] = {"\xFF", "\xC0\xAF", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xE2\x82"};
         return line.insert(below(draw, line.size() + 1), bytes[below(draw, std::size(bytes))]);
       })},
      {"a NUL", in_line([](std::string line, Draw& draw) -> std::optional<std::string> {
         return line.insert(below(draw, line.size() + 1), 1, '\0');
       })},
      {"spelt otherwise", in_line([](std::string line, Draw& draw) -> std::optional<std::string> {
         const std::size_t comma = line.find(',', below(draw, line.size()));
         if (comma == std::string::npos) return std::nullopt;
         return line.insert(comma, " ");
       })},
  };
}

TEST(VerdictEdits, TenThousandAreRefusedAndNoneDoesAnythingElse) {
  std::vector<StoredRun> runs;
  for (const char* name : kNames) runs.push_back(stored_run(name));
  const auto kinds = edits();
  Draw draw(20260607);
  std::vector<int> made(kinds.size());
  int refused = 0;
  for (std::size_t i = 0; refused < kEdits; ++i) {
    const auto& [what, edit] = kinds[i % kinds.size()];
    const std::size_t which = below(draw, runs.size());
    StoredRun edited = runs[which];
    const StoredRun& other = runs[(which + 1 + below(draw, runs.size() - 1)) % runs.size()];
    const std::size_t file = below(draw, 3);
    std::string& text = file == 0 ? edited.files.results : file == 1 ? edited.files.receipts : edited.verdict;
    const std::string& theirs = file == 0 ? other.files.results : file == 1 ? other.files.receipts : other.verdict;
    const std::string before = text;
    const std::optional<std::string> after = edit(text, theirs, draw);
    if (!after || *after == before) continue;
    text = *after;
    // Whoever edits a verdict can make its own digest again.
    if (file == 2 && below(draw, 2)) {
      json v = json::parse(text, nullptr, false);
      if (v.is_object() && v.contains("digest")) {
        v.erase("digest");
        try {
          v["digest"] = envelope_digest("assay.verdict", v, verdict_schema);
          text = canonical(v) + "\n";
        } catch (const JsonError&) {
        }
      }
      if (text == before) continue;
    }
    try {
      (void)verify_verdict(edited.verdict, edited.files);
      FAIL() << "accepted: " << what << " in file " << file << " of " << kNames[which] << ", edit " << i;
    } catch (const VerdictRefused& why) {
      ASSERT_STRNE(why.what(), "");
      ASSERT_LT(std::string(why.what()).size(), 1000U) << what;
      ++refused;
      ++made[i % kinds.size()];
    } catch (const std::exception& error) {
      FAIL() << what << " in file " << file << " of " << kNames[which] << ", edit " << i << ": " << error.what();
    }
  }
  for (std::size_t k = 0; k < kinds.size(); ++k) EXPECT_GT(made[k], 10) << kinds[k].first;
}

}  // namespace
}  // namespace assay
