#include "kernels/cuda/peer/stress/trials.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

namespace stress {
namespace {

constexpr int kMostCalls = 3;      // of a graph or a burst
constexpr int kStepsOfRound = 16;  // between two waits of the host

// splitmix64: the same draws wherever the seed is the same.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() { return mixed(state_ += 0x9e3779b97f4a7c15ull); }
  int between(int low, int high) { return low + static_cast<int>(next() % static_cast<std::uint64_t>(high - low + 1)); }
  bool one_in(int n) { return next() % static_cast<std::uint64_t>(n) == 0; }
  template <class T, std::size_t kCount>
  T any_of(const T (&values)[kCount]) {
    return values[next() % kCount];
  }

 private:
  std::uint64_t state_;
};

Shape draw_shape(Draws& draws, const Candidate& candidate) {
  Shape s{};
  do s.op = static_cast<Op>(draws.between(0, kOps - 1));
  while (!candidate.offers(s.op));
  s.type = static_cast<Type>(draws.between(0, kTypes - 1));
  s.rows = draws.one_in(2) ? draws.between(1, 16) : draws.any_of({1, 8, 32, 46, 47, 48, 49, 64, 128, 256, 299});
  s.columns = draws.one_in(2) ? draws.any_of({1, 2, 7, 8, 255, 256, 257, 768, 4096, 6144, 7168, 8191, 8192})
                              : draws.between(1, 1024);
  s.tokens = s.rows;
  s.places = 1;
  s.map_factor = 1;
  if (s.op != Op::finalise) return s;
  s.places = draws.between(1, 8);
  s.tokens += draws.one_in(2) ? draws.between(1, 32) : 0;
  while (std::int64_t{s.tokens} * s.places * s.columns > kMostPartCells) s.columns = (s.columns + 1) / 2;
  const auto entries = static_cast<std::uint32_t>(s.tokens * s.places);
  s.map_factor = 7919;
  while (std::gcd(s.map_factor, entries) != 1) ++s.map_factor;
  s.map_add = static_cast<std::uint32_t>(draws.next() % entries);
  return s;
}

class Rounds {
 public:
  Rounds(const Candidate& candidate, const Group& group, std::uint64_t seed)
      : candidate_(candidate),
        group_(group),
        common_(seed),
        own_(mixed(seed) + static_cast<std::uint64_t>(group.handle.rank)),
        buffers_(3 * kMostCalls) {
    require(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
    void* memory = nullptr;
    require(cudaMalloc(&memory, sizeof(Findings)), "cudaMalloc");
    findings_ = static_cast<Findings*>(memory);
    require(cudaMemset(findings_, 0, sizeof(Findings)), "cudaMemset");
  }

  // Two graphs and a burst have their own buffers each. Returns the calls of all rounds so far.
  std::uint64_t round() {
    const Burst graphs[] = {captured(0), captured(kMostCalls)};
    CallBuffers* last = nullptr;
    std::uint64_t last_salt = 0;
    for (int i = 0; i < kStepsOfRound; ++i) {
      const int kind = common_.between(0, 2);
      const Burst burst = kind < 2 ? graphs[kind] : drawn(2 * kMostCalls);
      const std::uint64_t salt = common_.next();
      run(burst, salt);
      calls_ += static_cast<std::uint64_t>(burst.count);
      group_.shared->ranks[group_.handle.rank].calls += static_cast<std::uint64_t>(burst.count);
      last = burst.first;
      last_salt = salt;
    }
    judge(*last, last_salt);
    for (const Burst& graph : graphs) require(cudaGraphExecDestroy(graph.graph), "cudaGraphExecDestroy");
    return calls_;
  }

 private:
  struct Burst {
    CallBuffers* first;
    int count;
    cudaGraphExec_t graph;  // NULL: eager
  };

  Burst drawn(int at) {
    Burst burst{&buffers_[static_cast<std::size_t>(at)], common_.between(1, kMostCalls), nullptr};
    for (int i = 0; i < burst.count; ++i) burst.first[i].lay_out(draw_shape(common_, candidate_), own_.next());
    return burst;
  }

  Burst captured(int at) {
    Burst burst = drawn(at);
    cudaGraph_t graph = nullptr;
    require(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    for (int i = 0; i < burst.count; ++i) candidate_.call(burst.first[i], stream_);
    require(cudaStreamEndCapture(stream_, &graph), "cudaStreamEndCapture");
    require(cudaGraphInstantiate(&burst.graph, graph, 0), "cudaGraphInstantiate");
    require(cudaGraphDestroy(graph), "cudaGraphDestroy");
    return burst;
  }

  void run(const Burst& burst, std::uint64_t salt) {
    for (int i = 0; i < burst.count; ++i) burst.first[i].fill(salt + i, group_.handle.rank, stream_);
    if (own_.one_in(3)) usleep(static_cast<useconds_t>(own_.between(0, 300)));
    if (own_.one_in(3)) delay(static_cast<unsigned>(own_.between(0, 200)), stream_);
    if (burst.graph != nullptr) {
      require(cudaGraphLaunch(burst.graph, stream_), "cudaGraphLaunch");
    } else {
      for (int i = 0; i < burst.count; ++i) {
        if (i > 0 && own_.one_in(4)) delay(static_cast<unsigned>(own_.between(0, 50)), stream_);
        candidate_.call(burst.first[i], stream_);
      }
    }
    for (int i = 0; i < burst.count; ++i) burst.first[i].check(salt + i, group_.handle.world_size, findings_, stream_);
  }

  void judge(const CallBuffers& last, std::uint64_t salt) {
    require(cudaStreamSynchronize(stream_), "a round of calls");
    Findings found{};
    require(cudaMemcpy(&found, findings_, sizeof found, cudaMemcpyDeviceToHost), "copying findings");
    if (found.checked != calls_) throw std::runtime_error("the check did not run on every call");
    if (found.wrong != 0) {
      const char* const output = found.output == 1 ? "the sum" : "the norm";
      throw std::runtime_error(std::to_string(found.wrong) + " wrong cells; " + name_of(found.shape) + ", " + output +
                               " at row " + std::to_string(found.row) + ", column " + std::to_string(found.column) +
                               ": " + std::to_string(found.got) + " instead of " + std::to_string(found.expected));
    }
    // The device's check shares its arithmetic with the filling; small sums are done again on the host.
    if (std::int64_t{last.shape().rows} * last.shape().columns <= 8192 &&
        last.wrong_by_host(salt, group_.handle.world_size) != 0)
      throw std::runtime_error("cells that differ from the host's sum; " + name_of(last.shape()));
    if (!group_.all_equal(found.digest)) throw std::runtime_error("ranks hold different bytes");
  }

  const Candidate& candidate_;
  const Group& group_;
  Draws common_, own_;
  std::vector<CallBuffers> buffers_;
  cudaStream_t stream_ = nullptr;
  Findings* findings_ = nullptr;
  std::uint64_t calls_ = 0;
};

}  // namespace

Candidate::Candidate(const char* path, const Group& group) : group_(group) {
  require(cudaGetDevice(&device_.device_id), "cudaGetDevice");
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::runtime_error(dlerror());
  const auto get = reinterpret_cast<decltype(&assay_get_library)>(dlsym(library, "assay_get_library"));
  const assay_library* const table = get != nullptr ? get(ASSAY_ABI_VERSION) : nullptr;
  if (table == nullptr) throw std::runtime_error(std::string(path) + " is no candidate library of this ABI");
  const char* const slots[kOps] = {"collective.all_reduce", "collective.ar_residual_rmsnorm",
                                   "collective.moe_finalize_ar_rmsnorm"};
  for (int op = 0; op < kOps; ++op) {
    for (std::uint32_t i = 0; i < table->variant_count; ++i) {
      if (std::string(table->variants[i]->slot) == slots[op]) variants_[op] = table->variants[i];
    }
    const assay_variant* const variant = variants_[op];
    if (variant == nullptr || variant->init == nullptr) continue;
    char words[256] = "";
    const assay_call call = call_of(nullptr, words);
    if (variant->init(&call, &states_[op]) != ASSAY_OK)
      throw std::runtime_error(std::string("init of ") + slots[op] + ": " + words);
  }
  if (!offers(Op::all_reduce) && !offers(Op::norm) && !offers(Op::finalise))
    throw std::runtime_error(std::string(path) + " offers no collective slot");
}

assay_call Candidate::call_of(void* state, char (&words)[256]) const {
  assay_call call{};
  call.size = sizeof call;
  call.device = device_;
  call.group = &group_.handle;
  call.state = state;
  call.error = words;
  call.error_bytes = sizeof words;
  return call;
}

void Candidate::call(const CallBuffers& buffers, cudaStream_t stream) const {
  const int op = static_cast<int>(buffers.shape().op);
  char words[256] = "";
  assay_call call = call_of(states_[op], words);
  call.cuda_stream = stream;
  if (buffers.call(*variants_[op], call) != ASSAY_OK)
    throw std::runtime_error("the entry failed: " + name_of(buffers.shape()) + ": " + words);
}

std::uint64_t run_trials(const Candidate& candidate, const Group& group, std::uint64_t seed, std::uint64_t calls) {
  Rounds rounds(candidate, group, seed);
  std::uint64_t done = 0;
  while (done < calls) done = rounds.round();
  return done;
}

}  // namespace stress
