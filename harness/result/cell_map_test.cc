#include "harness/result/cell_map.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>

#include "harness/result/forged_test.hpp"

namespace assay {
namespace {

using nlohmann::json;

CellMap forged_map() {
  CellMap map;
  map.rank = 1;
  map.call = "replay 2";
  map.output = "out";
  map.dtype = "bf16";
  map.shape = {2, 4};
  map.lines = {"...u", "1234"};
  map.off = 5;
  map.stray_bytes = 3;
  map.stray_after = true;
  map.stray_lines = {1};
  return map;
}

TEST(CellMap, ReadsBackInAFailureLine) {
  FailureRecord failure = forged_failure("number.reference");
  failure.maps = {forged_map(), CellMap{}};
  failure.maps[1].caught_in = "eager: rows=9";
  RunResults read;
  add_line(read, to_json(forged_run()).dump());
  add_line(read, to_json(failure).dump());
  EXPECT_EQ(read.failures.at(0).maps, failure.maps);
  EXPECT_FALSE(to_json(forged_failure("number.reference")).contains("maps"));
}

TEST(CellMap, TextOfACandidateIsRepaired) {
  CellMap map = forged_map();
  map.call = "a\xFF";
  EXPECT_EQ(cell_maps_from(json::array({to_json(map)})).at(0).call, "a\uFFFD");
}

TEST(CellMap, EveryEditIsRefused) {
  const std::vector<std::pair<const char*, std::function<void(json&)>>> edits = {
      {"no list", [](json& j) { j = j[0]; }},
      {"empty list", [](json& j) { j = json::array(); }},
      {"too many",
       [](json& j) {
         while (j.size() <= most_maps) j.push_back(j[0]);
       }},
      {"key more", [](json& j) { j[0]["x"] = 1; }},
      {"key less", [](json& j) { j[0].erase("off"); }},
      {"other key",
       [](json& j) {
         j[0].erase("off");
         j[0]["on"] = 1;
       }},
      {"negative rank", [](json& j) { j[0]["rank"] = -1; }},
      {"float", [](json& j) { j[0]["off"] = 1.5; }},
      {"call a number", [](json& j) { j[0]["call"] = 1; }},
      {"shape a number", [](json& j) { j[0]["shape"] = 8; }},
      {"shape of many", [](json& j) { j[0]["shape"] = std::vector<int>(9, 1); }},
      {"other mark", [](json& j) { j[0]["lines"][0] = "..<u"; }},
      {"ragged", [](json& j) { j[0]["lines"][0] = "..."; }},
      {"empty line", [](json& j) { j[0]["lines"] = {""}; }},
      {"long line", [](json& j) { j[0]["lines"] = {std::string(map_columns + 1, '.')}; }},
      {"many lines", [](json& j) { j[0]["lines"] = std::vector<std::string>(map_rows + 1, "."); }},
      {"sides", [](json& j) { j[0]["stray_sides"] = {true}; }},
      {"side no flag",
       [](json& j) {
         j[0]["stray_sides"] = {1, 0};
       }},
      {"padding beside no line", [](json& j) { j[0]["stray_lines"] = {2}; }},
      {"padding unsorted",
       [](json& j) {
         j[0]["stray_lines"] = {1, 0};
       }},
  };
  const json right = json::array({to_json(forged_map())});
  EXPECT_NO_THROW((void)cell_maps_from(right));
  for (const auto& [name, edit] : edits) {
    json edited = right;
    edit(edited);
    EXPECT_THROW((void)cell_maps_from(edited), std::invalid_argument) << name;
  }
}

}  // namespace
}  // namespace assay
