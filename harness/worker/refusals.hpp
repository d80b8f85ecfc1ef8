// refusals.hpp: where the worker's malloc notes that it was refused (refusals.cc; absent in asan builds).
#pragma once

#include <atomic>
#include <cstdint>

namespace assay {
void note_refusals(std::atomic<std::uint32_t>* flag);
}
