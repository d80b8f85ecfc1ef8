#include "harness/device/host/scratch_pool.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>

namespace assay::host {
namespace {

constexpr unsigned char poison = 0xFF;  // a quiet NaN in every float type, -1 in every integer type
constexpr unsigned char canary = 0xC5;

std::shared_ptr<std::byte> aligned_bytes(std::size_t bytes) {
  constexpr std::align_val_t align{ScratchPool::alignment};
  auto* memory = static_cast<std::byte*>(::operator new(bytes, align));
  return {memory, [](std::byte* dead) { ::operator delete(dead, align); }};
}

}  // namespace

std::shared_ptr<std::byte> ScratchPool::take(std::size_t bytes) {
  if (bytes > std::numeric_limits<std::size_t>::max() / 2) throw std::bad_alloc();
  Buffer* best = nullptr;
  for (Buffer& buffer : buffers_) {
    if (!buffer.free() || buffer.capacity < bytes) continue;
    if (best == nullptr || buffer.capacity < best->capacity) best = &buffer;
  }
  if (best == nullptr) {
    // A free buffer that is too small grows instead of staying behind unused.
    const auto small = std::find_if(buffers_.begin(), buffers_.end(), [](const Buffer& b) { return b.free(); });
    best = small == buffers_.end() ? &buffers_.emplace_back() : &*small;
    *best = Buffer{};
    best->memory = aligned_bytes(bytes + canary_bytes);
    best->capacity = bytes;
  }
  best->bytes = bytes;
  best->taken = true;
  std::memset(best->memory.get(), poison, bytes);
  std::memset(best->memory.get() + bytes, canary, canary_bytes);
  return best->memory;
}

void ScratchPool::recycle() noexcept {
  for (Buffer& buffer : buffers_) buffer.taken = false;
}

void ScratchPool::trim() {
  const Buffer* largest = nullptr;
  for (const Buffer& buffer : buffers_) {
    if (buffer.free() && (largest == nullptr || buffer.capacity > largest->capacity)) largest = &buffer;
  }
  const std::byte* keep = largest == nullptr ? nullptr : largest->memory.get();
  std::erase_if(buffers_, [&](const Buffer& b) { return b.memory == nullptr || (b.free() && b.memory.get() != keep); });
}

std::optional<std::string> ScratchPool::damage() {
  std::optional<std::string> text;
  for (Buffer& buffer : buffers_) {
    if (buffer.memory == nullptr) continue;
    std::byte* fence = buffer.memory.get() + buffer.bytes;
    const std::ptrdiff_t changed =
        std::count_if(fence, fence + canary_bytes, [](std::byte b) { return b != std::byte{canary}; });
    if (changed == 0) continue;
    std::memset(fence, canary, canary_bytes);
    text = "wrote " + std::to_string(changed) + " bytes past the end of its " + std::to_string(buffer.bytes) +
           " bytes of scratch";
  }
  return text;
}

}  // namespace assay::host
