// harness/tensor/half.hpp: 16-bit floats as bits, inline, the same bits on host and GPU.
//
// Promises: round to nearest even, subnormals kept, overflow to infinity, every NaN stays a (quiet) NaN. No libm, no
// 16-bit type of any compiler. Not public: assay/tensor.hpp offers the same functions out of line.
// Who calls it: harness/tensor and its loops over many values.
//
//   std::uint16_t bits = half::to_bf16(1.5F);
#pragma once

#include <cstdint>
#include <cstring>

#include "harness/tensor/host_device.hpp"

namespace assay::half {

ASSAY_HD inline std::uint32_t bits_of(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

ASSAY_HD inline float float_of(std::uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

ASSAY_HD inline float from_bf16(std::uint16_t bits) { return float_of(static_cast<std::uint32_t>(bits) << 16); }

ASSAY_HD inline std::uint16_t to_bf16(float value) {
  const std::uint32_t bits = bits_of(value);
  if ((bits & 0x7fffffffU) > 0x7f800000U) return static_cast<std::uint16_t>((bits >> 16) | 0x40U);
  return static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}

ASSAY_HD inline float from_f16(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16;
  const std::uint32_t exponent = (bits >> 10) & 31U;
  std::uint32_t mantissa = bits & 0x3ffU;
  if (exponent == 31U) return float_of(sign | 0x7f800000U | (mantissa << 13));
  if (exponent != 0U) return float_of(sign | ((exponent + 112U) << 23) | (mantissa << 13));
  if (mantissa == 0U) return float_of(sign);
  std::uint32_t shifts = 0;
  while ((mantissa & 0x400U) == 0U) {
    mantissa <<= 1;
    ++shifts;
  }
  return float_of(sign | ((113U - shifts) << 23) | ((mantissa & 0x3ffU) << 13));
}

ASSAY_HD inline std::uint16_t to_f16(float value) {
  const std::uint32_t bits = bits_of(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000U);
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  if (magnitude > 0x7f800000U) return static_cast<std::uint16_t>(sign | 0x7e00U | ((magnitude >> 13) & 0x1ffU));
  // 65520 is half way between the largest finite value and the next step; ties go to even, which is infinity.
  if (magnitude >= 0x477ff000U) return static_cast<std::uint16_t>(sign | 0x7c00U);
  if (magnitude >= 0x38800000U) {  // normal: from 2^-14
    const std::uint32_t rounded = magnitude + 0xfffU + ((magnitude >> 13) & 1U);
    return static_cast<std::uint16_t>(sign | ((rounded - 0x38000000U) >> 13));
  }
  if (magnitude < 0x33000000U) return sign;  // below half of the least subnormal
  const std::uint32_t shift = 126U - (magnitude >> 23);
  const std::uint32_t mantissa = (magnitude & 0x7fffffU) | 0x800000U;
  const std::uint32_t kept = mantissa >> shift;
  const std::uint32_t rest = mantissa & ((1U << shift) - 1U);
  const std::uint32_t half = 1U << (shift - 1U);
  const std::uint32_t up = rest > half || (rest == half && (kept & 1U) != 0U) ? 1U : 0U;
  return static_cast<std::uint16_t>(sign | (kept + up));
}

}  // namespace assay::half
