#include "harness/result/tried.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>

#include "harness/result/forged_test.hpp"
#include "harness/result/parts.hpp"

namespace assay {
namespace {

using nlohmann::json;

Tried forged_tried() {
  DimTried rows;
  rows.name = "rows";
  rows.most = 9;
  rows.edges = {{0, 2}, {7, 0}};
  rows.elsewhere = 3;
  return {{rows}, {{"normal", 5}, {"tag", 0}}, {{"lead=2d", 5}}};
}

TEST(Tried, ReadsBackInACasesLineAndIsLeftOutWhereEmpty) {
  CasesRecord cases{{"norm.rmsnorm", "rows", "host", "fp16", {}}, 96, 3, forged_tried()};
  RunResults read;
  add_line(read, to_json(forged_run()).dump());
  add_line(read, to_json(cases).dump());
  EXPECT_EQ(read.cases.at(0).tried, cases.tried);
  cases.tried = {};
  EXPECT_FALSE(to_json(cases).contains("tried"));
}

TEST(Tried, OfSeveralPartsTheOneThatSaysItCounts) {
  const CasesRecord silent{{"norm.rmsnorm", "rows", "host", "fp16", {}}, 0, 0, {}};
  CasesRecord telling = silent;
  telling.distinct = 9;
  telling.tried = forged_tried();
  for (const bool first : {true, false}) {
    PartMerger parts(2);
    EXPECT_TRUE(parts.take(to_json(first ? telling : silent).dump()).empty());
    const auto lines = parts.take(to_json(first ? silent : telling).dump());
    ASSERT_EQ(lines.size(), 1U);
    EXPECT_EQ(json::parse(lines[0]), to_json(telling));
  }
}

TEST(Tried, EveryEditIsRefused) {
  const std::vector<std::pair<const char*, std::function<void(json&)>>> edits = {
      {"a list", [](json& j) { j = json::array(); }},
      {"key more", [](json& j) { j["x"] = 1; }},
      {"dims an object", [](json& j) { j["dims"] = json::object(); }},
      {"dim without a name", [](json& j) { j["dims"][0].erase("name"); }},
      {"dim with a key more", [](json& j) { j["dims"][0]["x"] = 1; }},
      {"edge of one", [](json& j) { j["dims"][0]["edges"][0] = {1}; }},
      {"negative count",
       [](json& j) {
         j["dims"][0]["edges"][0] = {1, -1};
       }},
      {"recipe no text",
       [](json& j) {
         j["recipes"][0] = {1, 1};
       }},
      {"knobs missing", [](json& j) { j.erase("knobs"); }},
      {"float", [](json& j) { j["dims"][0]["least"] = 0.5; }},
  };
  const json right = to_json(forged_tried());
  EXPECT_EQ(tried_from(right), forged_tried());
  for (const auto& [name, edit] : edits) {
    json edited = right;
    edit(edited);
    EXPECT_THROW((void)tried_from(edited), std::invalid_argument) << name;
  }
}

}  // namespace
}  // namespace assay
