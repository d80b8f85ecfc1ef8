#include "harness/drive/call_descriptor.hpp"

#include "harness/route/live_facts.hpp"

namespace assay {

Descriptor descriptor_of(const SlotSpec& slot, const Case& c, const std::string& architecture, bool captured) {
  return describe(offline_facts(slot, c), name_of(c.dtype), architecture, captured);
}

}  // namespace assay
