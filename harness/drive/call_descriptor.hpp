// call_descriptor.hpp: the descriptor of a case's call: what a domain is matched against and a receipt is bound to.
//
// Promises: one function for the examiner, the receipts and whatever routes. Throws DescriptorError where the slot's
// own facts make no descriptor. Who calls it: conformance/{candidate,examiner}.cc, drive/bench_receipts.cc.
#pragma once

#include <string>

#include "assay/slot.hpp"
#include "harness/capability/descriptor.hpp"

namespace assay {

// The slot's side of every call: what stands for its contract where it has no row in the target catalogue.
[[nodiscard]] std::string arguments_digest(const SlotSpec&);
// `captured`: made while its stream is captured.
[[nodiscard]] Descriptor descriptor_of(const SlotSpec&, const Case&, const std::string& architecture, bool captured);

}  // namespace assay
