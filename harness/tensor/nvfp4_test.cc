#include "harness/tensor/nvfp4.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

namespace assay::nvfp4 {
namespace {

const nlohmann::json& vectors() {
  static const nlohmann::json file = [] {
    std::ifstream stream(ASSAY_FIXTURES "/nvfp4_values.json");
    if (!stream) throw std::runtime_error("cannot read nvfp4_values.json");
    return nlohmann::json::parse(stream);
  }();
  return file;
}

TEST(Nvfp4, DecodesEveryNibbleAndEveryByte) {
  ASSERT_EQ(vectors()["e2m1"].size(), 16U);
  for (std::uint32_t code = 0; code < 16; ++code) EXPECT_EQ(decode_e2m1(code), vectors()["e2m1"][code]) << code;
  ASSERT_EQ(vectors()["e4m3"].size(), 256U);
  for (std::uint32_t code = 0; code < 256; ++code) {
    const auto& due = vectors()["e4m3"][code];
    const float value = decode_e4m3(static_cast<std::uint8_t>(code));
    if (due.is_null()) {
      EXPECT_TRUE(std::isnan(value)) << code;
    } else {
      EXPECT_EQ(value, due.get<double>()) << code;
    }
  }
  EXPECT_TRUE(std::signbit(decode_e4m3(0x80)) && std::signbit(decode_e2m1(8)));
}

TEST(Nvfp4, EncodesToTheNearestWithTheSpecsTies) {
  for (const auto& row : vectors()["encode_e2m1"])
    EXPECT_EQ(encode_e2m1(row[0].get<float>()), row[1].get<int>()) << row[0];
  for (const auto& row : vectors()["encode_e4m3"])
    EXPECT_EQ(encode_e4m3(row[0].get<float>()), row[1].get<int>()) << row[0];
  EXPECT_EQ(encode_e2m1(5.0F), 6U);     // a tie: 4, not 6
  EXPECT_EQ(encode_e4m3(1.0625F), 56);  // a tie between 1 and 1.125: the even one
}

TEST(Nvfp4, EncodingWhatWasDecodedGivesTheSameCode) {
  for (std::uint32_t code = 0; code < 16; ++code) EXPECT_EQ(encode_e2m1(decode_e2m1(code)), code);
  for (std::uint32_t code = 0; code < 256; ++code) {
    EXPECT_EQ(encode_e4m3(decode_e4m3(static_cast<std::uint8_t>(code))), code);
  }
}

TEST(Nvfp4, SaturatesAndKeepsNanApart) {
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(encode_e2m1(100.0F), 7);
  EXPECT_EQ(encode_e2m1(-inf), 15);
  EXPECT_EQ(decode_e4m3(encode_e4m3(449.0F)), most_e4m3);
  EXPECT_EQ(decode_e4m3(encode_e4m3(-inf)), -most_e4m3);
  EXPECT_EQ(encode_e4m3(std::nanf("")), 0x7f);
  EXPECT_EQ(encode_e4m3(0x1p-10F), 0);  // half the least subnormal: to even, zero
  EXPECT_EQ(encode_e4m3(0x1.8p-10F), 1);
}

TEST(Nvfp4, EvenElementsLieInTheLowNibble) {
  const std::uint8_t row[] = {0x21, 0xF0};
  EXPECT_EQ(nibble(row, 0), 1U);
  EXPECT_EQ(nibble(row, 1), 2U);
  EXPECT_EQ(nibble(row, 2), 0U);
  EXPECT_EQ(nibble(row, 3), 15U);
}

TEST(Nvfp4, ScalesLieWhereReshapingAndSwappingPutsThem) {
  for (const auto& shape : vectors()["swizzle"]) {
    const ScaleGrid grid{shape["rows"], shape["cols"]};
    ASSERT_EQ(grid.bytes(), shape["bytes"].get<std::int64_t>());
    std::set<std::int64_t> places;
    for (std::int64_t r = 0; r < grid.rows; ++r)
      for (std::int64_t c = 0; c < grid.cols; ++c) {
        const std::int64_t place = grid.offset(r, c);
        EXPECT_EQ(place, shape["offsets"][static_cast<std::size_t>(r * grid.cols + c)].get<std::int64_t>())
            << shape["rows"] << "x" << shape["cols"] << " at " << r << "," << c;
        EXPECT_TRUE(place >= 0 && place < grid.bytes() && places.insert(place).second);
      }
  }
}

}  // namespace
}  // namespace assay::nvfp4
