// harness/tensor/nvfp4.hpp: NVFP4, the 4-bit weight form: E2M1 values in pairs, an E4M3 scale for every 16 of a row,
// and the swizzled order in which a matrix of scales is stored (spec/slots.md 6.2).
//
// Promises: integers and exact products only, the same bits on host and GPU. Encoders round as the spec's generator
// does: E2M1 to nearest with ties to the smaller magnitude, E4M3 to nearest even; both saturate.
// Who calls it: the expert slots' generator and reference. Vectors: fixtures/nvfp4_values.json.
//
//   const nvfp4::ScaleGrid grid{2 * inter, hidden / 16};
//   float w = nvfp4::decode_e2m1(nvfp4::nibble(row, k)) * nvfp4::decode_e4m3(scales[grid.offset(n, k / 16)]);
#pragma once

#include <cstdint>

#include "harness/tensor/half.hpp"
#include "harness/tensor/host_device.hpp"

namespace assay::nvfp4 {

inline constexpr std::int64_t group_size = 16;  // values that share a scale
inline constexpr std::int64_t group_bytes = group_size / 2;
inline constexpr float most_e2m1 = 6.0F, most_e4m3 = 448.0F;

// Bit 3 is the sign; values are halves: 0, 1, 2, 3, 4, 6, 8, 12.
ASSAY_HD inline float decode_e2m1(std::uint32_t nibble) {
  const std::uint32_t index = nibble & 7U, exponent = index >> 1, mantissa = index & 1U;
  const std::uint32_t halves = exponent == 0U ? mantissa : (2U + mantissa) << (exponent - 1U);
  const float value = static_cast<float>(halves) * 0.5F;
  return (nibble & 8U) != 0U ? -value : value;
}

// NaN counts as zero: a generator has none.
ASSAY_HD inline std::uint8_t encode_e2m1(float value) {
  const std::uint32_t sign = (half::bits_of(value) >> 31) << 3;
  const float m = value < 0 ? -value : value;
  const float between[7] = {0.25F, 0.75F, 1.25F, 1.75F, 2.5F, 3.5F, 5.0F};
  std::uint32_t index = 0;
  for (int i = 0; i < 7; ++i) index += m > between[i] ? 1U : 0U;
  return static_cast<std::uint8_t>(sign | index);
}

// Element `index` of a packed row: the even ones lie in bits 0-3.
ASSAY_HD inline std::uint32_t nibble(const std::uint8_t* row, std::int64_t index) {
  return static_cast<std::uint32_t>(row[index >> 1]) >> ((index & 1) * 4) & 15U;
}

// E4M3 "fn": bias 7, no infinity, NaN at 0x7F and 0xFF.
ASSAY_HD inline float decode_e4m3(std::uint8_t byte) {
  const std::uint32_t sign = static_cast<std::uint32_t>(byte & 0x80U) << 24, magnitude = byte & 0x7fU;
  if (magnitude == 0x7fU) return half::float_of(sign | 0x7fc00000U);
  if (magnitude < 8U) {
    const float value = static_cast<float>(magnitude) * 0x1p-9F;
    return sign != 0U ? -value : value;
  }
  return half::float_of(sign | ((magnitude << 20) + (120U << 23)));
}

ASSAY_HD inline std::uint8_t encode_e4m3(float value) {
  const std::uint32_t bits = half::bits_of(value), sign = (bits >> 24) & 0x80U;
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  if (magnitude > 0x7f800000U) return static_cast<std::uint8_t>(sign | 0x7fU);
  std::uint32_t code = 0x7eU;     // 448, which everything above 448 becomes as well
  if (magnitude < 0x3c800000U) {  // under 2^-6 the last place is 2^-9, which is that of 2^14
    code = half::bits_of(half::float_of(magnitude) + 0x1p14F) - half::bits_of(0x1p14F);
  } else if (magnitude < 0x43e00000U) {
    code = (magnitude + 0x7ffffU + ((magnitude >> 20) & 1U) - (120U << 23)) >> 20;
  }
  return static_cast<std::uint8_t>(sign | code);
}

// Where the scale of (row, column) lies among the bytes of one expert: tiles of 128 rows by 4 columns.
struct ScaleGrid {
  std::int64_t rows = 0, cols = 0;  // logical

  ASSAY_HD std::int64_t padded_rows() const { return (rows + 127) / 128 * 128; }
  ASSAY_HD std::int64_t padded_cols() const { return (cols + 3) / 4 * 4; }
  ASSAY_HD std::int64_t bytes() const { return padded_rows() * padded_cols(); }
  ASSAY_HD std::int64_t offset(std::int64_t r, std::int64_t c) const {
    return ((r / 128) * (padded_cols() / 4) + c / 4) * 512 + (r % 32) * 16 + (r % 128) / 32 * 4 + c % 4;
  }
};

}  // namespace assay::nvfp4
