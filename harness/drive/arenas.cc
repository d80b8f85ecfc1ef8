#include "harness/drive/arenas.hpp"

#include <algorithm>

#include "harness/tensor/layout.hpp"

namespace assay {
namespace {

constexpr std::uint64_t kFencedChunks = 24;  // two sides of eleven inputs and weights
constexpr std::uint64_t kLeastArena = 8u << 20, kLeastFenced = 256u << 10;

// What a judge knows of memory that is its workers'.
class PlannedArena final : public Arena {
 public:
  explicit PlannedArena(const ArenaPlan& plan) : plan_(plan) {}
  [[nodiscard]] std::byte* base() const noexcept override { return nullptr; }
  [[nodiscard]] const ArenaPlan& plan() const noexcept override { return plan_; }
  [[nodiscard]] std::vector<int> descriptors() const override { return {}; }

 private:
  ArenaPlan plan_;
};

std::uint64_t round_up(std::uint64_t n, std::uint64_t step) { return (n + step - 1) / step * step; }

}  // namespace

void Arenas::begin_trial(int ranks, bool hosted) {
  if (ranks > ranks_ || hosted != hosted_) {  // more than are needed stay unused
    for (auto& of_ranks : arenas_) of_ranks.clear();
    ranks_ = std::max(ranks, ranks_);
    hosted_ = hosted;
  }
  used_.fill(0);
  next_far_ = kFar;
}

void Arenas::make(std::uint32_t id, const ArenaPlan& plan) {
  arenas_[id].clear();  // before the new one: both at once may not fit
  for (int r = 0; r < ranks_; ++r)
    arenas_[id].push_back(hosted(id) ? std::make_unique<PlannedArena>(plan)
                                     : (id == kShelf ? *host_ : domain_).create(plan));
  ++generations_[id];
}

void Arenas::at_least(std::uint32_t id, std::uint64_t bytes) {
  if (get(id) && get(id)->plan().span >= bytes) return;
  const std::uint64_t span =
      round_up(std::max(kLeastArena, bytes + bytes / 2), std::max(domain_.granularity(), host_->granularity()));
  make(id, {span, {{0, span}}});
}

void Arenas::reserve(std::uint64_t input_bytes, std::uint64_t output_bytes) {
  at_least(kInputs, input_bytes);
  at_least(kOutputs, output_bytes);
}

void Arenas::shelve(std::uint64_t bytes) { at_least(kShelf, bytes); }

std::uint64_t Arenas::take(ArenaId id, std::uint64_t bytes, std::uint64_t gap) {
  const std::uint64_t offset = round_up(used_[id] + gap, region_alignment);
  if (!get(id) || offset + bytes > get(id)->plan().span)
    throw DeviceError("a trial needs more lent memory than was reserved for it");
  used_[id] = offset + bytes;
  return offset;
}

Chunk Arenas::take_fenced(ArenaId id, std::uint64_t bytes) {
  const std::uint64_t page = domain_.granularity();
  const std::uint64_t index = used_[id];
  if (index >= kFencedChunks) throw DeviceError("a trial needs more fenced tensors than there are chunks");
  if (!get(id) || get(id)->plan().chunks.front().bytes < bytes) {
    if (index != 0) throw DeviceError("a fenced chunk is smaller than its tensor");
    const std::uint64_t size = round_up(std::max(kLeastFenced, bytes), page);
    // A hole as large as a chunk on either side, so that a stray access of any stride up to a chunk faults.
    ArenaPlan plan;
    for (std::uint64_t i = 0; i < kFencedChunks; ++i) plan.chunks.push_back({size + i * 2 * size, size});
    plan.span = 2 * size * kFencedChunks + size;
    make(id, plan);
  }
  ++used_[id];
  return get(id)->plan().chunks[index];
}

std::uint32_t Arenas::take_far(std::uint64_t rows, std::uint64_t pitch_bytes, std::uint64_t chunk_bytes) {
  const std::uint64_t chunk = round_up(chunk_bytes, domain_.granularity());
  const std::uint32_t id = next_far_++;
  if (id >= kArenas) throw DeviceError("a trial needs more far tensors than there are arenas");
  ArenaPlan plan;
  for (std::uint64_t r = 0; r < rows; ++r) plan.chunks.push_back({r * pitch_bytes, chunk});
  plan.span = round_up((rows - 1) * pitch_bytes + chunk, domain_.granularity());
  const auto same = [](const ArenaPlan& a, const ArenaPlan& b) {
    return a.span == b.span && std::equal(a.chunks.begin(), a.chunks.end(), b.chunks.begin(), b.chunks.end(),
                                          [](const Chunk& x, const Chunk& y) {
                                            return x.offset == y.offset && x.bytes == y.bytes;
                                          });
  };
  if (!get(id) || !same(get(id)->plan(), plan)) make(id, plan);
  return id;
}

bool Arenas::read_only(std::uint32_t id) const noexcept {
  if (id >= kFar) return !output_[id];
  return id == kInputs || id == kFencedInputs;
}

void Arenas::far_is_output(std::uint32_t id, bool output) noexcept {
  if (output_[id] != output) ++generations_[id];  // another access: workers map it again
  output_[id] = output;
}

}  // namespace assay
