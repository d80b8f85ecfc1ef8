// against_pytorch.cc: the CUDA library's kernels beside PyTorch's own operators: same inputs, same GPU, same run.
//
// Both are replayed from graphs (cuda_kernel.hpp). bf16 in the shapes of Llama-3-8B: `decode` is 8 rows, or one query
// over 8192 keys, `prefill` is 4096 tokens. Inputs rotate through more memory than the L2 holds, where they are large
// enough. Counter "pytorch/ours": PyTorch's time over ours, above 1 where ours is faster. Two results that differ are
// no comparison: the benchmark is skipped with an error.
#include <ATen/ATen.h>
#include <c10/cuda/CUDAGuard.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "conformance/assay_bench/cuda_kernel.hpp"

namespace assay {
namespace {

constexpr double kEps = 1e-6;
constexpr std::int64_t kRotatedBytes = std::int64_t{1} << 28;

using Tensors = std::vector<at::Tensor>;

// A tensor as the ABI describes it; lives no longer than the tensor.
struct Described : DLTensor {
  explicit Described(const at::Tensor& t) : DLTensor{} {
    data = t.data_ptr();
    device = {kDLCUDA, 0};
    ndim = static_cast<std::int32_t>(t.dim());
    dtype = {kDLBfloat, 16, 1};
    shape = const_cast<std::int64_t*>(t.sizes().data());
    strides = const_cast<std::int64_t*>(t.strides().data());
  }
};

// Inputs of one call, as often as a graph of calls needs them.
std::vector<Tensors> rotated(const std::vector<Extents>& shapes) {
  std::int64_t bytes = 0;
  for (const Extents& shape : shapes) bytes += 2 * element_count(shape);
  std::vector<Tensors> sets(static_cast<std::size_t>(std::clamp<std::int64_t>(kRotatedBytes / bytes, 2, kCalls)));
  for (Tensors& set : sets)
    for (const Extents& shape : shapes)
      set.push_back(at::randn(shape, at::device(at::kCUDA).dtype(at::kFloat)).to(at::kBFloat16));
  return sets;
}

// `theirs` returns its output; `ours` fills one of the shape of `out`, given the inputs and then the output.
template <class Theirs, class Ours>
void compare(benchmark::State& state, CudaKernel& kernel, const std::vector<Tensors>& sets, const at::Tensor& out,
             Theirs&& theirs, Ours&& ours) {
  std::vector<std::vector<Described>> described;
  for (const Tensors& set : sets) {
    described.emplace_back(set.begin(), set.end());
    described.back().emplace_back(out);
  }
  std::vector<const DLTensor*> first;
  for (const Described& d : described.front()) first.push_back(&d);
  if (!kernel.reserve(state, first.data(), static_cast<std::uint32_t>(first.size()))) return;
  const auto set_of = [&](int call) { return static_cast<std::size_t>(call) % sets.size(); };
  const auto enqueue_ours = [&](cudaStream_t stream, int call) { ours(kernel.on(stream), described[set_of(call)]); };
  const auto enqueue_theirs = [&](cudaStream_t stream, int call) {
    const c10::cuda::CUDAStreamGuard guard(c10::cuda::getStreamFromExternal(stream, 0));
    (void)theirs(sets[set_of(call)]);
  };

  cudaDeviceSynchronize();
  enqueue_ours(nullptr, 0);
  const at::Tensor due = theirs(sets.front()).to(at::kFloat);
  if (!((out.to(at::kFloat) - due).norm().item<float>() <= 0.02F * due.norm().item<float>())) {
    state.SkipWithError("ours and PyTorch's results differ");
    return;
  }
  for (auto _ : state) {
    const double our_seconds = replay_seconds(enqueue_ours), their_seconds = replay_seconds(enqueue_theirs);
    if (our_seconds == 0 || their_seconds == 0) {
      state.SkipWithError("the calls could not be captured");
      return;
    }
    state.SetIterationTime(our_seconds);
    state.counters["pytorch_us"] = 1e6 * their_seconds;
    state.counters["pytorch/ours"] = their_seconds / our_seconds;
  }
}

void PyTorchSiluAndMul(benchmark::State& state, std::int64_t rows, std::int64_t d) {
  CudaKernel kernel;
  if (!kernel.load(state, "activation.silu_and_mul")) return;
  const c10::InferenceMode no_autograd;
  const auto sets = rotated({{rows, 2 * d}});
  compare(
      state, kernel, sets, at::empty({rows, d}, sets[0][0].options()),
      [d](const Tensors& t) { return at::silu(t[0].narrow(1, 0, d)) * t[0].narrow(1, d, d); },
      [&](const assay_call* call, std::vector<Described>& t) {
        kernel.variant->entry.silu_and_mul(call, &t[0], &t[1]);
      });
}

void PyTorchRmsNorm(benchmark::State& state, std::int64_t rows, std::int64_t hidden) {
  CudaKernel kernel;
  if (!kernel.load(state, "norm.rmsnorm")) return;
  const c10::InferenceMode no_autograd;
  const auto sets = rotated({{rows, hidden}, {hidden}});
  compare(
      state, kernel, sets, at::empty_like(sets[0][0]),
      [hidden](const Tensors& t) { return at::rms_norm(t[0], {hidden}, t[1], kEps); },
      [&](const assay_call* call, std::vector<Described>& t) {
        kernel.variant->entry.rmsnorm(call, &t[0], &t[1], &t[2], kEps);
      });
}

// Causal: PyTorch aligns its mask to the first key, so it is asked for one only where all queries have keys of their
// own; a single query sees every key.
void PyTorchSdpa(benchmark::State& state, std::int64_t queries, std::int64_t keys) {
  constexpr std::int64_t kQueryHeads = 32, kKeyHeads = 8, kDim = 128;
  CudaKernel kernel;
  if (!kernel.load(state, "attention.sdpa")) return;
  const c10::InferenceMode no_autograd;
  const auto sets = rotated({{queries, kQueryHeads, kDim}, {keys, kKeyHeads, kDim}, {keys, kKeyHeads, kDim}});
  const double scale = 1 / std::sqrt(static_cast<double>(kDim));
  const auto heads_first = [](const at::Tensor& t) { return t.transpose(0, 1).unsqueeze(0); };
  compare(
      state, kernel, sets, at::empty_like(sets[0][0]),
      [&](const Tensors& t) {
        return at::scaled_dot_product_attention(heads_first(t[0]), heads_first(t[1]), heads_first(t[2]), {}, 0.0,
                                                queries == keys, scale, true)
            .squeeze(0)
            .transpose(0, 1);
      },
      [&](const assay_call* call, std::vector<Described>& t) {
        kernel.variant->entry.attention(call, &t[0], &t[1], &t[2], &t[3], scale, 1);
      });
}

constexpr auto once = [](auto* b) { b->UseManualTime()->Iterations(1)->Unit(benchmark::kMicrosecond); };

}  // namespace

BENCHMARK_CAPTURE(PyTorchSiluAndMul, decode, 8, 14336)->Apply(once);
BENCHMARK_CAPTURE(PyTorchSiluAndMul, prefill, 4096, 14336)->Apply(once);
BENCHMARK_CAPTURE(PyTorchRmsNorm, decode, 8, 4096)->Apply(once);
BENCHMARK_CAPTURE(PyTorchRmsNorm, prefill, 4096, 4096)->Apply(once);
BENCHMARK_CAPTURE(PyTorchSdpa, decode, 1, 8192)->Apply(once);
BENCHMARK_CAPTURE(PyTorchSdpa, prefill, 4096, 4096)->Apply(once);

}  // namespace assay
