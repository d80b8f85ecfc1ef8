// harness/tensor/layout.hpp: where the cells of one tensor lie in its own region of memory, on plain numbers.
//
// Promises: a region has guard bytes on both sides, cell 0 at the least alignment that the slot promises and no better
// (a kernel that relies on more fails), rows at a pitch where asked for. A flush region ends or starts exactly with
// the cells, for unmapped neighbours. Nothing here touches memory; offsets are from the region's base, which has to be
// a multiple of region_alignment (flush: of the page).
// Who calls it: harness/drive, harness/tensor/guard.
//
//   Box box = lay_out({.dtype = DType::bf16, .shape = {3, 7}, .row_padding = 8, .alignment = 16});
#pragma once

#include <cstdint>

#include "assay/tensor.hpp"

namespace assay {

inline constexpr std::uint64_t guard_bytes = 4096;       // on each side
inline constexpr std::uint64_t region_alignment = 4096;  // of a region's base and size

struct Box {
  std::uint64_t cell0_bytes = 0;  // offset of cell 0 from the region's base
  std::uint64_t region_bytes = 0;
  DType dtype = DType::f32;
  Extents shape, strides;  // elements; row-major in memory, no cell twice

  [[nodiscard]] std::uint64_t span_bytes() const noexcept {
    return static_cast<std::uint64_t>(span_of(shape, strides)) * size_of(dtype);
  }
  [[nodiscard]] TensorView view(void* region, DeviceType device = DeviceType::host, int ordinal = 0) const {
    return {static_cast<std::byte*>(region) + cell0_bytes, dtype, shape, strides, device, ordinal};
  }
};

struct LayoutRequest {
  DType dtype = DType::f32;
  Extents shape{};
  std::int64_t row_padding = 0;   // elements; 0 is contiguous
  std::int64_t offset = 0;        // elements that cell 0 moves on by, at least: alignment is kept
  std::uint64_t alignment = 256;  // power of two up to 2048; at least the element's size is kept
};

// Rank 1: stride 1 + padding. Rank 2 and more: last stride 1, next max(1, last extent) + padding, outer ones dense
// around it (spec/slots.md 2.2). Padding 0: contiguous_strides.
[[nodiscard]] Extents padded_strides(const Extents& shape, std::int64_t padding);

// A row-major, non-overlapping view with positive strides and no holes between columns, which is all that the stride
// policy "strided" allows (spec/slots.md 2.2). Contiguous views are; permuted ones are not.
[[nodiscard]] bool is_strided(const Extents& shape, const Extents& strides) noexcept;

// Cell 0 lies at an odd multiple of the alignment. Throws std::invalid_argument for an impossible request.
[[nodiscard]] Box lay_out(const LayoutRequest&);

enum class Flush : std::uint32_t { start, end };

// The region is a run of whole pages. start: cell 0 is its first byte. end: the cells' last byte is its last, or as
// near as the alignment lets it: the promise to the candidate comes first. `offset` is ignored.
[[nodiscard]] Box lay_out_flush(const LayoutRequest&, Flush, std::uint64_t page_bytes);

}  // namespace assay
