#include "harness/tensor/guard.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <type_traits>

#include "harness/tensor/cells.hpp"
#include "harness/tensor/traverse.hpp"

namespace assay {
namespace {

constexpr std::size_t most_hits = 16;
constexpr std::uint64_t period = 256;  // of the canary: i * 31 mod 256
constexpr std::uint64_t block = 4096;

std::uint8_t guard_byte(Guard guard, std::uint64_t offset) {
  if (guard == Guard::float_input) return 0xFF;
  if (guard == Guard::integer_input) return 0x7F;
  return static_cast<std::uint8_t>(0xC3U ^ (offset * 31U & 0xFFU));
}

// A period more than a block, so that a block of the pattern can be taken from any phase.
std::array<std::uint8_t, block + period> pattern_of(Guard guard) {
  std::array<std::uint8_t, block + period> pattern;
  for (std::size_t i = 0; i < pattern.size(); ++i) pattern[i] = guard_byte(guard, i);
  return pattern;
}

void check(std::size_t region_bytes, const Box& box) {
  if (region_bytes != box.region_bytes || box.cell0_bytes + box.span_bytes() > region_bytes)
    throw std::invalid_argument("the region and its box differ in size");
}

// Calls f(offset, bytes) for each stretch that holds no cell, ascending. Cells must ascend in memory.
template <class F>
void for_each_gap(const Box& box, F&& f) {
  std::uint64_t at = 0;
  const std::uint64_t size = size_of(box.dtype);
  for_each_run(box.shape, box.strides, [&](std::int64_t, std::int64_t offset, std::int64_t length) {
    const std::uint64_t start = box.cell0_bytes + static_cast<std::uint64_t>(offset) * size;
    if (start < at) throw std::invalid_argument("a box's cells ascend in memory and do not overlap");
    if (start > at) f(at, start - at);
    at = start + static_cast<std::uint64_t>(length) * size;
  });
  if (at < box.region_bytes) f(at, box.region_bytes - at);
}

// Cuts a gap into blocks and gives f(offset, bytes, pattern of these bytes).
template <class Pattern, class F>
void for_each_block(const Pattern& pattern, std::uint64_t offset, std::uint64_t bytes, F&& f) {
  while (bytes > 0) {
    const std::uint64_t count = std::min(bytes, block);
    f(offset, count, pattern.data() + offset % period);
    offset += count;
    bytes -= count;
  }
}

Band band_of(const Box& box, std::uint64_t offset) {
  if (offset < box.cell0_bytes) return Band::before;
  return offset >= box.cell0_bytes + box.span_bytes() ? Band::after : Band::padding;
}

std::string describe(const Box& box, const CanaryReport& report) {
  const CanaryHit& hit = report.first.front();
  char text[192];
  char where[96];
  const auto number = [](std::uint64_t n) { return static_cast<unsigned long long>(n); };
  if (hit.band == Band::before)
    std::snprintf(where, sizeof where, "%llu bytes before the first cell", number(box.cell0_bytes - hit.offset));
  else if (hit.band == Band::after)
    std::snprintf(where, sizeof where, "%llu bytes after the last cell",
                  number(hit.offset - box.cell0_bytes - box.span_bytes()));
  else
    std::snprintf(where, sizeof where, "in row padding, %llu bytes after the first cell",
                  number(hit.offset - box.cell0_bytes));
  std::snprintf(text, sizeof text, "%llu bytes changed; the first is %s: 0x%02x, was 0x%02x", number(report.changed),
                where, hit.found, hit.expected);
  return text;
}

template <class F>
auto with_cell_type(DType dtype, F&& f) {
  switch (size_of(dtype)) {
    case 1:
      return f(std::uint8_t{});
    case 2:
      return f(std::uint16_t{});
    case 4:
      return f(std::uint32_t{});
    default:
      return f(std::uint64_t{});
  }
}

}  // namespace

Guard input_guard(DType dtype) noexcept { return is_float(dtype) ? Guard::float_input : Guard::integer_input; }

std::string_view name_of(Band band) noexcept {
  return band == Band::before ? "before" : band == Band::after ? "after" : "padding";
}

void paint(std::span<std::byte> region, const Box& box, Guard guard) {
  check(region.size(), box);
  const auto pattern = pattern_of(guard);
  for_each_gap(box, [&](std::uint64_t gap, std::uint64_t gap_bytes) {
    for_each_block(pattern, gap, gap_bytes, [&](std::uint64_t offset, std::uint64_t bytes, const std::uint8_t* want) {
      std::memcpy(region.data() + offset, want, bytes);
    });
  });
}

CanaryReport scan(std::span<const std::byte> region, const Box& box, Guard guard) {
  check(region.size(), box);
  const auto pattern = pattern_of(guard);
  CanaryReport report;
  for_each_gap(box, [&](std::uint64_t gap, std::uint64_t gap_bytes) {
    for_each_block(pattern, gap, gap_bytes, [&](std::uint64_t offset, std::uint64_t bytes, const std::uint8_t* want) {
      if (std::memcmp(region.data() + offset, want, bytes) == 0) return;
      for (std::uint64_t i = 0; i < bytes; ++i) {
        const auto found = std::to_integer<std::uint8_t>(region[offset + i]);
        if (found == want[i]) continue;
        ++report.changed;
        if (report.first.size() < most_hits)
          report.first.push_back({offset + i, band_of(box, offset + i), want[i], found});
      }
    });
  });
  if (!report.clean()) report.text = describe(box, report);
  return report;
}

std::uint64_t poison_bits(DType dtype, Poison poison, std::uint32_t ordinal) noexcept {
  const bool first = poison == Poison::first;
  const std::uint32_t turn = ordinal % 17;
  switch (dtype) {
    case DType::bf16:
      return first ? 0x7FDAU : 0x7E97U;  // 1.0e38
    case DType::f16:
      return first ? 0x7E5AU : 0x7A5BU;  // 52064
    case DType::f32:
      return first ? 0x7FC5A5A5U : 0x7E967699U;  // 1.0e38
    case DType::f64:
      return first ? 0x7FF85A5A5A5A5A5AU : 0x7FD6969696969699U;  // 6.3e307
    case DType::i32:
      return first ? 0x7FFFFFFFU - turn : 0x80000000U + turn;
    case DType::i64:
      return first ? 0x7FFFFFFFFFFFFFFFU - turn : 0x8000000000000000U + turn;
    case DType::u8:
      return first ? 0xFFU - turn : 0x5AU + turn;
  }
  return 0;
}

void paint_poison(std::span<std::byte> region, const Box& box, std::uint64_t bits) {
  check(region.size(), box);
  with_cell_type(box.dtype, [&](auto type) {
    using Cell = decltype(type);
    const auto value = static_cast<Cell>(bits);
    for_each_run(box.shape, box.strides, [&](std::int64_t, std::int64_t offset, std::int64_t length) {
      std::byte* at = region.data() + box.cell0_bytes + static_cast<std::uint64_t>(offset) * sizeof(Cell);
      for (std::int64_t i = 0; i < length; ++i) std::memcpy(at + i * std::int64_t{sizeof(Cell)}, &value, sizeof(Cell));
    });
  });
}

PoisonReport scan_poison(std::span<const std::byte> region, const Box& box, std::uint64_t bits) {
  check(region.size(), box);
  PoisonReport report;
  with_cell_type(box.dtype, [&](auto type) {
    using Cell = decltype(type);
    const auto value = static_cast<Cell>(bits);
    for_each_run(box.shape, box.strides, [&](std::int64_t first, std::int64_t offset, std::int64_t length) {
      const std::byte* at = region.data() + box.cell0_bytes + static_cast<std::uint64_t>(offset) * sizeof(Cell);
      for (std::int64_t i = 0; i < length; ++i) {
        Cell found;
        std::memcpy(&found, at + i * std::int64_t{sizeof(Cell)}, sizeof(Cell));
        if (found != value) continue;
        ++report.count;
        if (report.cells.size() < most_described_cells) report.cells.push_back(first + i);
      }
    });
  });
  return report;
}

Tensor extract(std::span<const std::byte> region, const Box& box) {
  check(region.size(), box);
  Tensor result(box.shape, box.dtype);
  const auto size = static_cast<std::int64_t>(size_of(box.dtype));
  auto* to = static_cast<std::byte*>(result.view().data);
  const std::byte* from = region.data() + box.cell0_bytes;
  for_each_run(box.shape, box.strides, [&](std::int64_t first, std::int64_t offset, std::int64_t length) {
    std::memcpy(to + first * size, from + offset * size, static_cast<std::size_t>(length * size));
  });
  return result;
}

void deposit(std::span<std::byte> region, const Box& box, const TensorView& contiguous) {
  check(region.size(), box);
  if (!contiguous.contiguous() || contiguous.shape != box.shape || contiguous.dtype != box.dtype)
    throw std::invalid_argument("deposit takes a contiguous tensor of the box's shape and dtype");
  const auto size = static_cast<std::int64_t>(size_of(box.dtype));
  const auto* from = static_cast<const std::byte*>(contiguous.data);
  std::byte* to = region.data() + box.cell0_bytes;
  for_each_run(box.shape, box.strides, [&](std::int64_t first, std::int64_t offset, std::int64_t length) {
    std::memcpy(to + offset * size, from + first * size, static_cast<std::size_t>(length * size));
  });
}

}  // namespace assay
