#include "harness/drive/requested_layout.hpp"

namespace assay {

LayoutRequest request_of(const SlotSpec& slot, const ArgumentSpec& a, const Case& c) {
  LayoutRequest request;
  request.dtype = slot.dtype(a, c);
  request.shape = slot.shape(a, c);
  request.alignment = static_cast<std::uint64_t>(a.alignment);
  if (const auto l = c.layouts.find(a.name); l != c.layouts.end()) {
    request.row_padding = request.shape.size() >= 2 ? l->second.pad : 0;
    request.offset = l->second.offset / static_cast<std::int64_t>(size_of(request.dtype));
  }
  return request;
}

}  // namespace assay
