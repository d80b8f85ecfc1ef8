#include "harness/tensor/layout.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>

namespace assay {
namespace {

std::uint64_t round_up(std::uint64_t value, std::uint64_t step) { return (value + step - 1) / step * step; }

Box box_of(const LayoutRequest& request) {
  if (!std::has_single_bit(request.alignment) || request.alignment > region_alignment / 2)
    throw std::invalid_argument("alignment is a power of two up to 2048 bytes");
  if (request.row_padding < 0 || request.offset < 0) throw std::invalid_argument("padding and offset are >= 0");
  for (const std::int64_t extent : request.shape)
    if (extent < 0) throw std::invalid_argument("extents are >= 0");
  Box box;
  box.dtype = request.dtype;
  box.shape = request.shape;
  box.strides = padded_strides(request.shape, request.row_padding);
  return box;
}

// An element is aligned to its own size, whatever less a slot promises.
std::uint64_t alignment_of(const LayoutRequest& request) {
  return std::max<std::uint64_t>(request.alignment, size_of(request.dtype));
}

}  // namespace

Extents padded_strides(const Extents& shape, std::int64_t padding) {
  Extents strides = contiguous_strides(shape);
  if (padding == 0 || shape.empty()) return strides;
  if (shape.size() == 1) return {1 + padding};
  std::int64_t step = std::max<std::int64_t>(1, shape.back()) + padding;
  for (std::size_t d = shape.size() - 1; d-- > 0;) {
    strides[d] = step;
    step *= std::max<std::int64_t>(1, shape[d]);
  }
  return strides;
}

bool is_strided(const Extents& shape, const Extents& strides) noexcept {
  if (shape.size() != strides.size()) return false;
  if (element_count(shape) == 0) return true;
  if (shape.size() >= 2 && shape.back() > 1 && strides.back() != 1) return false;
  std::int64_t span = 1;
  for (std::size_t d = shape.size(); d-- > 0;) {
    if (shape[d] == 1) continue;
    if (strides[d] < span) return false;
    span += (shape[d] - 1) * strides[d];
  }
  return true;
}

Box lay_out(const LayoutRequest& request) {
  Box box = box_of(request);
  const std::uint64_t alignment = alignment_of(request);
  const std::uint64_t least = guard_bytes + static_cast<std::uint64_t>(request.offset) * size_of(request.dtype);
  box.cell0_bytes = round_up(least, alignment);
  if (box.cell0_bytes % (2 * alignment) == 0) box.cell0_bytes += alignment;
  box.region_bytes = round_up(box.cell0_bytes + box.span_bytes() + guard_bytes, region_alignment);
  return box;
}

Box lay_out_flush(const LayoutRequest& request, Flush flush, std::uint64_t page_bytes) {
  if (page_bytes < region_alignment || !std::has_single_bit(page_bytes))
    throw std::invalid_argument("a page is a power of two of at least 4096 bytes");
  Box box = box_of(request);
  box.region_bytes = std::max(page_bytes, round_up(box.span_bytes(), page_bytes));
  if (flush == Flush::end) box.cell0_bytes = (box.region_bytes - box.span_bytes()) & ~(alignment_of(request) - 1);
  return box;
}

}  // namespace assay
