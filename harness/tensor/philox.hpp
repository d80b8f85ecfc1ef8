// harness/tensor/philox.hpp: the one source of pseudo-random bits, counter-based and keyed by name.
//
// Promises: Philox-4x32-10, bit-equal to Random123's published vectors, on host and GPU. A key is a 64-bit hash of a
// seed, a purpose in words and two ordinals, so no value depends on the order in which things are drawn.
// Not promised: cryptographic strength.
// Who calls it: harness/tensor/fill, harness/case, anything that must draw the same numbers twice.
//
//   const std::uint64_t key = derive_key(seed, "x", rank, replay);
//   const PhiloxBlock block = philox({0, 0, 0, 0}, key);
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "harness/tensor/host_device.hpp"

namespace assay {

struct PhiloxBlock {
  std::uint32_t word[4];
};

ASSAY_HD inline PhiloxBlock philox(PhiloxBlock counter, std::uint64_t key) {
  auto k0 = static_cast<std::uint32_t>(key);
  auto k1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = static_cast<std::uint64_t>(0xD2511F53U) * counter.word[0];
    const std::uint64_t p1 = static_cast<std::uint64_t>(0xCD9E8D57U) * counter.word[2];
    counter = {{static_cast<std::uint32_t>(p1 >> 32) ^ counter.word[1] ^ k0, static_cast<std::uint32_t>(p1),
                static_cast<std::uint32_t>(p0 >> 32) ^ counter.word[3] ^ k1, static_cast<std::uint32_t>(p0)}};
    k0 += 0x9E3779B9U;
    k1 += 0xBB67AE85U;
  }
  return counter;
}

// The finaliser of SplitMix64: a bijection that spreads every bit.
ASSAY_HD constexpr std::uint64_t mix64(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

// FNV-1a over the purpose, then each part mixed in turn: ordinals never add up, so a rank and a replay cannot collide.
constexpr std::uint64_t derive_key(std::uint64_t seed, std::string_view purpose, std::uint64_t a = 0,
                                   std::uint64_t b = 0) {
  std::uint64_t name = 0xCBF29CE484222325ULL;
  for (const char c : purpose) name = (name ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
  std::uint64_t key = mix64(seed + 0x9E3779B97F4A7C15ULL);
  for (const std::uint64_t part : {name, a, b}) key = mix64((key ^ part) * 0x9E3779B97F4A7C15ULL + 1);
  return key;
}

}  // namespace assay
