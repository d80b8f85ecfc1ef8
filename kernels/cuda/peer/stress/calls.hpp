// calls.hpp: one call of a collective slot: its buffers, its fresh inputs, the call itself and the check of its
// outputs, all of them in stream order and without a word from the host.
//
// Promises: check() compares every cell: the sum exactly, the norm within its own rounding; it keeps the first cell
// that differs, and a digest of all outputs that is equal on all ranks when their bytes are. Who uses it: trials.cc,
// latency.cu.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <string>

#include "assay/abi.h"
#include "kernels/cuda/peer/stress/values.cuh"

namespace stress {

constexpr int kMostRows = 300, kMostColumns = 8192;
constexpr std::int64_t kMostPartCells = std::int64_t{1} << 22;

// A matrix that starts anywhere and has any pitch.
struct View {
  void* data;
  std::int64_t pitch;  // cells
};

struct Findings {
  unsigned long long checked, wrong, digest;
  int claimed;  // by the first wrong cell
  Shape shape;
  int output, row, column;
  float got, expected;
};

// Memory for one call of up to the largest shape. Freed with the process.
class CallBuffers {
 public:
  CallBuffers();

  // Lays the call's tensors out. `layout` is the rank's own: alignment and pitch are no business of its peers.
  void lay_out(const Shape& shape, std::uint64_t layout);
  // Fresh inputs, and outputs that hold NaN.
  void fill(std::uint64_t salt, int rank, cudaStream_t stream) const;
  void check(std::uint64_t salt, int world, Findings* findings, cudaStream_t stream) const;
  // The sum as it reads on the host after the stream is done, cell by cell against the host's own: how many differ.
  [[nodiscard]] std::int64_t wrong_by_host(std::uint64_t salt, int world) const;

  [[nodiscard]] assay_status call(const assay_variant& variant, const assay_call& call) const;
  [[nodiscard]] const Shape& shape() const { return shape_; }
  [[nodiscard]] const View& part() const { return part_; }
  [[nodiscard]] const View& sum() const { return sum_; }

 private:
  Shape shape_{};
  char *part_memory_, *residual_memory_, *weight_memory_, *norm_memory_, *sum_memory_;
  std::int32_t* map_;
  float* scales_;
  View part_{}, residual_{}, norm_{}, sum_{};
};

void delay(unsigned microseconds, cudaStream_t stream);
[[nodiscard]] std::string name_of(const Shape& shape);
// Throws std::runtime_error with the runtime's words.
void require(cudaError_t error, const char* what);

}  // namespace stress
