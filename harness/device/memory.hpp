// memory.hpp: arenas, the memory that a judge owns and lends to its worker, on either device, or that a worker owns and
// its judge reaches through copies alone (`hosted`).
//
// An arena is a span of addresses in which only the chunks are backed by memory; everything between them is unmapped
// and faults when touched. The judge creates it and maps it read-write; a worker maps the same chunks again from file
// descriptors, read-only or read-write, at addresses of its own, with the same offsets. One chunk over the whole span
// is an ordinary arena; chunks with holes are guard pages and far rows.
//
// Who calls it: harness/drive (judge), harness/worker (worker). Errors throw DeviceError, which is never a
// candidate's failure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "assay/tensor.hpp"

namespace assay {

class DeviceError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Chunk {
  std::uint64_t offset = 0;  // bytes from the arena's base, a multiple of the granularity
  std::uint64_t bytes = 0;   // a multiple of the granularity
};

struct ArenaPlan {
  std::uint64_t span = 0;    // bytes of address space, a multiple of the granularity
  std::vector<Chunk> chunks; // ascending, disjoint
};

// One mapping of an arena in this process. Unmaps on destruction.
class ArenaMapping {
 public:
  virtual ~ArenaMapping() = default;
  [[nodiscard]] virtual std::byte* base() const noexcept = 0;
};

enum class Access : std::uint32_t { read_only, read_write };

// Memory of a worker's own in two views of one plan: the candidate's, and a read-write one elsewhere for trusted steps.
struct HostedArena {
  std::unique_ptr<ArenaMapping> candidate, trusted;
};

// What the judge holds: its own mapping and one descriptor a chunk to send to workers.
class Arena : public ArenaMapping {
 public:
  [[nodiscard]] virtual const ArenaPlan& plan() const noexcept = 0;
  [[nodiscard]] virtual std::vector<int> descriptors() const = 0;  // owned by the arena, one a chunk
};

class MemoryDomain {
 public:
  virtual ~MemoryDomain() = default;
  [[nodiscard]] virtual DeviceType type() const noexcept = 0;
  [[nodiscard]] virtual int ordinal() const noexcept = 0;
  [[nodiscard]] virtual std::string architecture() const = 0;          // "cpu", "sm90"
  [[nodiscard]] virtual std::size_t granularity() const noexcept = 0;  // 4 KiB on the host, 2 MiB on CUDA

  // Judge. Chunks are zeroed.
  [[nodiscard]] virtual std::unique_ptr<Arena> create(const ArenaPlan&) = 0;
  // Worker. Takes no ownership of the descriptors.
  [[nodiscard]] virtual std::unique_ptr<ArenaMapping> map(const ArenaPlan&, const std::vector<int>& descriptors,
                                                          Access) = 0;
  // Worker, where memory cannot be lent: kernels and libraries that register a tensor with peers have to export it, and
  // what was imported from a judge cannot be exported again. Chunks are zeroed.
  [[nodiscard]] virtual HostedArena host(const ArenaPlan&, Access) = 0;

  // Judge. Synchronous: complete on return. `device` pointers lie inside one chunk of an arena of this domain.
  virtual void upload(void* device, const void* host, std::size_t bytes) = 0;
  virtual void download(void* host, const void* device, std::size_t bytes) = 0;
};

// Throws DeviceError with one sentence where the device is absent or unusable. `ordinal` counts visible devices.
[[nodiscard]] std::unique_ptr<MemoryDomain> make_host_memory();
[[nodiscard]] std::unique_ptr<MemoryDomain> make_cuda_memory(int ordinal);  // defined in every build

}  // namespace assay
