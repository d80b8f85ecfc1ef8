// refusals.cc: notes in the black box that an allocation was refused under the worker's own data limit.
//
// The executable's definitions stand before libc's for the candidate too (the worker is linked with its symbols
// exported). Left out of asan builds, which bring their own allocator.
#include <cerrno>
#include <cstddef>

#include "harness/worker/refusals.hpp"

namespace assay {
namespace {
std::atomic<std::uint32_t>* refused = nullptr;
void* noted(void* memory) {
  if (!memory && refused) *refused = 1;
  return memory;
}
}  // namespace

void note_refusals(std::atomic<std::uint32_t>* flag) { refused = flag; }

}  // namespace assay

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

__attribute__((visibility("default"))) void* malloc(std::size_t bytes) { return assay::noted(__libc_malloc(bytes)); }
__attribute__((visibility("default"))) void* calloc(std::size_t n, std::size_t bytes) {
  return assay::noted(__libc_calloc(n, bytes));
}
__attribute__((visibility("default"))) void* realloc(void* old, std::size_t bytes) {
  void* memory = __libc_realloc(old, bytes);
  return bytes ? assay::noted(memory) : memory;
}
__attribute__((visibility("default"))) void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  return assay::noted(__libc_memalign(alignment, bytes));
}
__attribute__((visibility("default"))) int posix_memalign(void** out, std::size_t alignment, std::size_t bytes) {
  *out = assay::noted(__libc_memalign(alignment, bytes));
  return *out ? 0 : ENOMEM;
}
}
