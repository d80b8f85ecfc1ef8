#include "harness/drive/cell_map_of.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>

#include "harness/drive/requested_layout.hpp"

namespace assay {
namespace {

// A call of one output of rows x columns in fp32 whose expected values are all 1.
class CellMapOf : public testing::Test {
 protected:
  CellMapOf() {
    slot.id = "test.slot";
    slot.arguments = args(out("out", {"rows", "d"}).strided(16).aligned(16)).specs;
    seen.slot = &slot;
  }
  void call(Observation& to, std::int64_t rows, std::int64_t columns, const std::string& label = "call") {
    CallSeen made;
    made.label = label;
    made.c.slot = slot.id;
    made.c.dims = {{"rows", rows}, {"d", columns}};
    made.c.layouts["out"].pad = kPad;
    OutputSeen seen_out;
    seen_out.spec = &slot.arguments[0];
    seen_out.actual = Tensor({rows, columns}, DType::f32);
    for (float& v : seen_out.actual.values<float>()) v = 1;
    auto reference = std::make_shared<ReferenceResult>();
    Expected expected;
    expected.expected = Tensor({rows, columns}, DType::f64);
    for (double& v : expected.expected.values<double>()) v = 1;
    reference->outputs.push_back(std::move(expected));
    made.reference = std::move(reference);
    made.outputs.push_back(std::move(seen_out));
    to.calls.push_back(std::move(made));
  }
  static float& cell(CallSeen& call, std::int64_t row, std::int64_t column) {
    return call.outputs[0].actual.view().at<float>({row, column});
  }
  static constexpr std::int64_t kPad = 4;
  SlotSpec slot;
  Observation seen;
};

TEST_F(CellMapOf, EachMarkStandsForWhatIsWrong) {
  call(seen, 2, 8);
  CallSeen& c = seen.calls[0];
  constexpr float bound = 2e-5F;  // of fp32 runs around 1
  cell(c, 0, 1) = 1 + 1.5F * bound;
  cell(c, 0, 2) = 1 + 5 * bound;
  cell(c, 0, 3) = 1 + 50 * bound;
  cell(c, 0, 4) = 2;
  cell(c, 1, 0) = std::nanf("");
  cell(c, 1, 1) = std::numeric_limits<float>::infinity();
  cell(c, 1, 7) = std::nanf("");
  c.outputs[0].poison = {1, {15}};
  const std::vector<CellMap> maps = cell_maps_of(seen, fail(Reason::mismatch, "x", "call"));
  ASSERT_EQ(maps.size(), 1U);
  EXPECT_EQ(maps[0].lines, (std::vector<std::string>{".1234...", "nn.....u"}));
  EXPECT_EQ(maps[0].off, 7);
  EXPECT_EQ(maps[0].output, "out");
  EXPECT_EQ(maps[0].shape, (Extents{2, 8}));
  EXPECT_EQ(maps[0].dtype, "fp32");
}

TEST_F(CellMapOf, ARightCallAndAPassHaveNone) {
  call(seen, 2, 8);
  EXPECT_TRUE(cell_maps_of(seen, fail(Reason::mismatch, "x", "call")).empty());
  cell(seen.calls[0], 0, 0) = 9;
  EXPECT_TRUE(cell_maps_of(seen, pass()).empty());
}

TEST_F(CellMapOf, TheCallThatTheJudgementNamesComesFirst) {
  call(seen, 1, 4, "call");
  call(seen, 1, 4, "replay 2");
  for (CallSeen& c : seen.calls) cell(c, 0, 0) = 9;
  EXPECT_EQ(cell_maps_of(seen, fail(Reason::mismatch, "x", "replay 2")).at(0).call, "replay 2");
  EXPECT_EQ(cell_maps_of(seen, fail(Reason::mismatch, "x", "elsewhere")).at(0).call, "call");
  cell(seen.calls[1], 0, 0) = 1;
  EXPECT_EQ(cell_maps_of(seen, fail(Reason::mismatch, "x", "replay 2")).at(0).call, "call");
}

TEST_F(CellMapOf, RanksThatAreRightStandBesideTheOthers) {
  call(seen, 2, 2);
  seen.others.resize(1);
  seen.others[0].slot = &slot;
  seen.others[0].rank = 1;
  call(seen.others[0], 2, 2);
  cell(seen.others[0].calls[0], 1, 1) = 7;
  const std::vector<CellMap> maps = cell_maps_of(seen, fail(Reason::mismatch, "x", "call, rank 1"));
  ASSERT_EQ(maps.size(), 2U);
  EXPECT_EQ(maps[0].off, 0);
  EXPECT_EQ(maps[1].rank, 1);
  EXPECT_EQ(maps[1].lines.back(), ".4");
}

TEST_F(CellMapOf, ALargeOutputKeepsItsWorstCellsInSight) {
  call(seen, 1000, 5000);
  CallSeen& c = seen.calls[0];
  cell(c, 999, 4999) = 2;
  cell(c, 0, 0) = 1.00003F;
  cell(c, 0, 1) = 3;
  const CellMap map = cell_maps_of(seen, fail(Reason::mismatch, "x", "call")).at(0);
  ASSERT_EQ(map.lines.size(), map_rows);
  ASSERT_EQ(map.lines[0].size(), map_columns);
  EXPECT_EQ(map.lines.front().front(), '4');
  EXPECT_EQ(map.lines.back().back(), '4');
  EXPECT_EQ(map.off, 3);
}

TEST_F(CellMapOf, WhatIsWrittenOutsideTheCellsIsToldBySide) {
  call(seen, 4, 8);
  CallSeen& c = seen.calls[0];
  const Box box = lay_out(request_of(slot, slot.arguments[0], c.c));
  std::vector<std::byte> region(box.region_bytes);
  paint(region, box, Guard::canary);
  const std::uint64_t pitch = (8 + kPad) * sizeof(float);
  region[box.cell0_bytes + 2 * pitch + 8 * sizeof(float)] ^= std::byte{1};
  region[box.cell0_bytes + box.span_bytes()] ^= std::byte{1};
  c.outputs[0].canary = scan(region, box, Guard::canary);
  const CellMap map = cell_maps_of(seen, fail(Reason::stray_write, "x", "call")).at(0);
  EXPECT_EQ(map.stray_bytes, 2);
  EXPECT_FALSE(map.stray_before);
  EXPECT_TRUE(map.stray_after);
  EXPECT_EQ(map.stray_lines, (std::vector<std::int64_t>{2}));
  EXPECT_EQ(map.off, 0);
}

TEST_F(CellMapOf, TheCaughtTrialsMapsFollowWithItsNameAsFarAsThereIsRoom) {
  call(seen, 1, 4);
  cell(seen.calls[0], 0, 0) = 9;
  std::vector<CellMap> maps = cell_maps_of(seen, fail(Reason::mismatch, "x", "call"));
  add_caught(maps, std::vector<CellMap>(most_maps, maps.front()), "eager: d=4");
  ASSERT_EQ(maps.size(), most_maps);
  EXPECT_EQ(maps[0].caught_in, "");
  EXPECT_EQ(maps[1].caught_in, "eager: d=4");
}

TEST_F(CellMapOf, AnOutputWithoutCellsIsDrawnWithoutLines) {
  call(seen, 0, 8);
  seen.calls[0].outputs[0].canary.changed = 1;
  seen.calls[0].outputs[0].canary.first = {{0, Band::padding, 0, 1}};
  const CellMap map = cell_maps_of(seen, fail(Reason::stray_write, "x", "call")).at(0);
  EXPECT_TRUE(map.lines.empty());
  EXPECT_EQ(map.stray_bytes, 1);
}

}  // namespace
}  // namespace assay
