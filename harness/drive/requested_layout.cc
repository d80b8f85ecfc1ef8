#include "harness/drive/requested_layout.hpp"

#include <algorithm>
#include <vector>

#include "harness/route/output_spec.hpp"

namespace assay {

LayoutRequest request_of(const SlotSpec& slot, const ArgumentSpec& a, const Case& c) {
  LayoutRequest request;
  if (a.kind == 'o') {  // the one resolver of outputs says what they are
    const std::vector<TensorSpec> outputs = resolve_outputs(slot, c).outputs;
    const auto spec = std::find_if(outputs.begin(), outputs.end(), [&](const TensorSpec& t) { return t.name == a.name; });
    request = {spec->dtype, spec->shape, spec->padding, 0, static_cast<std::uint64_t>(spec->alignment)};
    if (const auto l = c.layouts.find(a.name); l != c.layouts.end())
      request.offset = l->second.offset / static_cast<std::int64_t>(size_of(request.dtype));
    return request;
  }
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
