// scratch_pool.hpp: the scratch memory (assay_call::workspace) that calls receive.
//
// Promises: memory is 256-byte aligned, filled with 0xFF, and followed by a canary. A buffer is given to a second
// call only after `recycle`, and never while someone else (a captured graph) still holds it: growing for one call
// does not move the scratch of another that is queued or captured.
// Who calls it: the host model, under its lock.
//
//   ScratchPool pool;
//   std::shared_ptr<std::byte> memory = pool.take(4096);
//   if (auto text = pool.damage()) ...            // someone wrote past the end
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace assay::host {

class ScratchPool {
 public:
  static constexpr std::size_t alignment = 256;
  static constexpr std::size_t canary_bytes = 256;

  // Throws std::bad_alloc.
  [[nodiscard]] std::shared_ptr<std::byte> take(std::size_t bytes);
  // Nothing queued uses scratch any more.
  void recycle() noexcept;
  // Keeps the largest free buffer and whatever a graph still holds.
  void trim();
  // One line where a canary was overwritten; repairs it, so that one overrun is told once.
  [[nodiscard]] std::optional<std::string> damage();

 private:
  struct Buffer {
    std::shared_ptr<std::byte> memory;
    std::size_t capacity = 0, bytes = 0;
    bool taken = false;
    [[nodiscard]] bool free() const noexcept { return !taken && memory.use_count() == 1; }
  };
  std::vector<Buffer> buffers_;
};

}  // namespace assay::host
