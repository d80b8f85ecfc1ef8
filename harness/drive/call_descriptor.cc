#include "harness/drive/call_descriptor.hpp"

namespace assay {

Descriptor descriptor_of(const SlotSpec& slot, const Case& c, const std::string& architecture, bool captured) {
  DescriptorFacts said;
  slot.descriptor(c, said);
  DescriptorBuilder b;
  b.dtype(name_of(c.dtype)).architecture(architecture).graph_mode(captured ? "cuda_graph" : "eager");
  for (const auto& [name, value] : said.numbers) b.set(name, value);
  for (const auto& [name, value] : said.words) b.set(name, std::string_view(value));
  // The group's size; one device, one rank is what it amounts to outside collectives.
  if (!said.numbers.count("tp_size")) b.tp_size(c.world);
  if (!said.numbers.count("world_size")) b.world_size(c.world);
  return b.build();
}

}  // namespace assay
