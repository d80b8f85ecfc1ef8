// harness/tensor/guard.hpp: canaries around the cells of a region, poison in them, and the scanners of both.
//
// Promises: paint and scan treat every byte of the region that belongs to no cell: guards, alignment slack, padding;
// paint_poison, scan_poison, extract and deposit treat the cells only. Plain spans of host memory; contiguous stretches
// go at memcmp or memcpy speed. The region's size is the box's, else std::invalid_argument.
// Who calls it: harness/drive, on private copies of what a worker was lent.
//
//   paint(region, box, Guard::canary);
//   paint_poison(region, box, poison_bits(box.dtype, Poison::first, 16));
//   ... the call ...
//   if (!scan(region, box, Guard::canary).clean()) ...
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "assay/tensor.hpp"
#include "harness/tensor/layout.hpp"

namespace assay {

enum class Guard : std::uint32_t {
  canary,         // byte i of the region is 0xC3 ^ (i * 31 & 0xFF): outputs
  float_input,    // 0xFF, a NaN in every float format
  integer_input,  // 0x7F, a huge index
};
[[nodiscard]] Guard input_guard(DType) noexcept;

enum class Band : std::uint32_t { before, after, padding };  // relative to the span of the cells
[[nodiscard]] std::string_view name_of(Band) noexcept;

struct CanaryHit {
  std::uint64_t offset = 0;  // bytes from the region's base
  Band band = Band::before;
  std::uint8_t expected = 0, found = 0;
};

struct CanaryReport {
  std::uint64_t changed = 0;     // bytes
  std::vector<CanaryHit> first;  // up to 16, ascending
  std::string text;              // "3 bytes changed; the first is 2 bytes after the last cell: 0x14, was 0xc3"
  [[nodiscard]] bool clean() const noexcept { return changed == 0; }
};

void paint(std::span<std::byte> region, const Box&, Guard);
[[nodiscard]] CanaryReport scan(std::span<const std::byte> region, const Box&, Guard);

// `first` is the pattern of spec/slots.md 4.3: a quiet NaN with a payload, integers their maximum minus ordinal mod 17.
// `second` is a large finite float; integers their minimum plus ordinal mod 17, uint8 0x5A plus that.
enum class Poison : std::uint32_t { first, second };
[[nodiscard]] std::uint64_t poison_bits(DType, Poison, std::uint32_t ordinal = 0) noexcept;

struct PoisonReport {
  std::int64_t count = 0;           // cells that hold exactly the poison's bits
  std::vector<std::int64_t> cells;  // their row-major ordinals, the first most_described_cells of them
};

void paint_poison(std::span<std::byte> region, const Box&, std::uint64_t bits);
[[nodiscard]] PoisonReport scan_poison(std::span<const std::byte> region, const Box&, std::uint64_t bits);

[[nodiscard]] Tensor extract(std::span<const std::byte> region, const Box&);          // contiguous copy of the cells
void deposit(std::span<std::byte> region, const Box&, const TensorView& contiguous);  // the inverse

}  // namespace assay
