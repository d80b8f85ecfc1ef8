// A request that attends nothing leaves its statistic in the place of the next one.
// Slot: attention.decode. Caught by: number.reference. Source: FAULT-008.
#include "kernels/faulty/decode.hpp"

namespace {

using faulty::Attended;
using faulty::DecodeArguments;

struct Fault : faulty::Decode<Fault> {
  struct Staged : DecodeArguments {
    double* statistics;  // maximum and sum of a row
  };
  static assay_status workspace(const assay_call*, const DLTensor* const* tensors, uint32_t, size_t* bytes) {
    *bytes = static_cast<size_t>(tensors[0]->shape[0] * tensors[0]->shape[1]) * 2 * sizeof(double);
    return ASSAY_OK;
  }
  static void gather(const DecodeArguments& a, int64_t row, Attended& attended) {
    attend(a, row / a.heads(), row % a.heads(), 0, a.width, attended);
  }
  template <bool Empty>
  static void statistics(const void* memory, uint32_t block, uint32_t blocks) {
    const auto& a = *static_cast<const Staged*>(memory);
    const int64_t rows = a.batch * a.heads();
    const auto range = host_kernels::rows_of_block(rows, block, blocks);
    for (int64_t row = range.begin; row < range.end; ++row) {
      Attended attended;
      gather(a, row, attended);
      if ((attended.sum == 0) != Empty) continue;
      const int64_t place = Empty ? (row + a.heads()) % rows : row;
      a.statistics[2 * place] = attended.maximum;
      a.statistics[2 * place + 1] = attended.sum;
    }
  }
  static void finish(const void* memory, uint32_t block, uint32_t blocks) {
    const auto& a = *static_cast<const Staged*>(memory);
    const auto range = host_kernels::rows_of_block(a.batch * a.heads(), block, blocks);
    for (int64_t row = range.begin; row < range.end; ++row) {
      Attended attended;
      gather(a, row, attended);
      if (attended.sum > 0) attended.sum = a.statistics[2 * row + 1];
      write(a, row / a.heads(), row % a.heads(), attended);
    }
  }
  static assay_status enqueue(const assay_call* call, const DecodeArguments& a) {
    const Staged staged = {a, static_cast<double*>(call->workspace)};
    const uint32_t blocks = host_kernels::blocks_for(a.batch * a.heads());
    const assay_host_kernel kernels[] = {statistics<false>, statistics<true>, finish};
    for (const assay_host_kernel kernel : kernels) {
      const assay_status status = faulty::launch(call, call->host_stream, kernel, blocks, staged);
      if (status != ASSAY_OK) return status;
    }
    return ASSAY_OK;
  }
};

}  // namespace

FAULTY_DECODE(Fault)
