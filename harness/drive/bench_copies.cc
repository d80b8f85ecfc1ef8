// bench_copies.cc: the part of a Bench that appends copies: values to lent memory by way of the shelf, and back.
#include <cstring>

#include "harness/drive/bench_state.hpp"
#include "harness/tensor/philox.hpp"

namespace assay {
namespace {

// Tensors of a call that lie this close together travel in one copy: a copy costs as much as 100 KB of it.
constexpr std::uint64_t kTogether = 128u << 10;
constexpr std::uint64_t kLargeInput = 256u << 10;
constexpr std::byte kInputGap{0xFF}, kOutputGap{0xC3};

std::uint64_t round_up(std::uint64_t n, std::uint64_t step) { return (n + step - 1) / step * step; }

// The bytes of a region with its cells, guards and padding.
ImageBytes paint_bytes(const Placed& p, const Piece& piece, std::optional<Guard> guard, int place) {
  auto image = std::make_shared<std::vector<std::byte>>(piece.box.region_bytes);
  paint(*image, piece.box, guard.value_or(p.guard));
  if (p.spec->kind == 'o' && !p.by_stock) {
    paint_poison(*image, piece.box, p.poison);
  } else {
    TensorView part = p.of(place).view();
    part.shape = piece.box.shape;
    part.strides = contiguous_strides(part.shape);
    part.data = static_cast<std::byte*>(part.data) + static_cast<std::size_t>(piece.first_cell) * size_of(p.dtype);
    deposit(*image, piece.box, part);
  }
  return image;
}

Image paint_image(const Binding& b, const Placed& p, const Piece& piece, std::optional<Guard> guard, int ranks) {
  Image image{paint_bytes(p, piece, guard, b.place_of(0)), {}};
  for (int r = 1; !p.others.empty() && r < ranks; ++r)
    image.others.push_back(paint_bytes(p, piece, guard, b.place_of(r)));
  return image;
}

// Where all inputs, or all outputs, of a call lie as one short run of an arena; nothing where they do not.
std::optional<ProgramRegion> together(const Binding& b, bool outputs) {
  const std::uint32_t arena = outputs ? kOutputs : kInputs;
  std::uint64_t from = ~0ULL, to = 0;
  int tensors = 0;
  for (const Placed& p : b.tensors) {
    if (p.weight || (p.spec->kind == 'o') != outputs) continue;
    if (p.arena != arena || p.pieces.size() != 1) return std::nullopt;
    from = std::min(from, p.pieces[0].arena_offset);
    to = std::max(to, p.pieces[0].arena_offset + p.pieces[0].box.region_bytes);
    ++tensors;
  }
  if (tensors < 2 || to - from > kTogether) return std::nullopt;
  return ProgramRegion{arena, 0, from, to - from};
}

// Of several pieces none is large: far rows are short.
bool is_large_input(const Placed& p, std::size_t piece) {
  return p.spec->kind == 'i' && !p.weight && p.pieces.size() == 1 && p.pieces[piece].box.region_bytes > kLargeInput;
}

void paint_piece(Binding& b, Placed& p, Piece& piece, std::optional<Guard> guard, int ranks) {
  // Outputs are poisoned alike before most calls, and inputs pushed again unchanged: painted once.
  const std::uint64_t from = p.by_stock          ? kValuesByHand
                             : p.spec->kind == 'o' ? p.poison
                                                   : b.versions[static_cast<std::size_t>(&p - b.tensors.data())];
  const std::uint64_t key = derive_key(from, "image", static_cast<std::uint64_t>(guard.value_or(p.guard)));
  if (!piece.image.first || piece.image_key != key || from == kValuesByHand) piece.image = paint_image(b, p, piece, guard, ranks);
  piece.image_key = key;
}

}  // namespace

void Bench::State::push_piece(Binding& b, Placed& p, std::size_t i, std::optional<Guard> guard, std::uint32_t stream) {
  Piece& piece = p.pieces[i];
  paint_piece(b, p, piece, guard, world);
  // Candidates cannot write inputs, and what a large one holds is seen at the trial's end: it need not go up again.
  const bool there = is_large_input(p, i) && piece.there.first == piece.image.first;
  if (is_large_input(p, i)) piece.there = piece.image;
  if (there) return;
  const auto [place, fresh] = shelved.try_emplace(piece.image.first.get(), up_bytes);
  script.copy(stream, region_of(p, i), {kShelf, 0, place->second, piece.box.region_bytes});
  if (!fresh) return;
  uploads.emplace_back(piece.image, up_bytes);
  up_bytes += round_up(piece.box.region_bytes, kShelfAlignment);
}

void Bench::State::push(Binding& b, bool outputs, std::optional<Guard> guard, std::uint32_t stream) {
  const auto run = together(b, outputs);
  std::vector<const void*> images;
  for (Placed& p : b.tensors) {
    if (p.weight || (p.spec->kind == 'o') != outputs) continue;
    for (std::size_t i = 0; i < p.pieces.size(); ++i) {
      if (!run) {
        push_piece(b, p, i, guard, stream);
        continue;
      }
      paint_piece(b, p, p.pieces[i], guard, world);
      images.push_back(p.pieces[i].image.first.get());
    }
  }
  if (!run) return;
  const auto [place, fresh] = shelved_together.try_emplace(std::move(images), up_bytes);
  script.copy(stream, *run, {kShelf, 0, place->second, run->bytes});
  if (!fresh) return;
  blanks.push_back({up_bytes, run->bytes, outputs ? kOutputGap : kInputGap});
  for (const Placed& p : b.tensors)
    if (!p.weight && (p.spec->kind == 'o') == outputs)
      uploads.emplace_back(p.pieces[0].image, up_bytes + p.pieces[0].arena_offset - run->offset);
  up_bytes += round_up(run->bytes, kShelfAlignment);
}

// The stream is one that nothing else uses, so that a held one does not matter.
void Bench::State::read_back(Deferred& d, Placed& p, std::uint32_t stream) {
  for (std::size_t i = 0; i < p.pieces.size(); ++i) {
    const std::uint64_t bytes = p.pieces[i].box.region_bytes;
    down_steps.push_back(script.copy(stream, {kShelf, 0, down_bytes, bytes}, region_of(p, i)));
    d.reads.push_back({p.pieces[i].image, &p, i, down_bytes});
    down_bytes += round_up(bytes, kShelfAlignment);
  }
}

void Bench::State::read_back(Deferred& d, Binding& b, bool inputs, std::uint32_t stream) {
  std::optional<ProgramRegion> runs[2];
  std::uint64_t at[2] = {};
  for (const bool outputs : {false, true}) {
    if (!outputs && !inputs) continue;
    auto& run = runs[outputs] = together(b, outputs);
    if (!run) continue;
    at[outputs] = down_bytes;
    down_steps.push_back(script.copy(stream, {kShelf, 0, down_bytes, run->bytes}, *run));
    down_bytes += round_up(run->bytes, kShelfAlignment);
  }
  for (Placed& p : b.tensors) {
    const bool output = p.spec->kind == 'o';
    if (p.weight || (!output && !inputs) || is_large_input(p, 0)) continue;
    if (const auto& run = runs[output])
      d.reads.push_back({p.pieces[0].image, &p, 0, at[output] + p.pieces[0].arena_offset - run->offset});
    else
      read_back(d, p, stream);
  }
}

// What is read once a trial, at its end: weights, and inputs too large to be read after every call.
void Bench::State::read_last(Binding& b) {
  Deferred* d = nullptr;
  for (Placed& p : b.tensors) {
    if (b.borrowed && p.weight) continue;
    if (!p.weight && !is_large_input(p, 0)) continue;
    if (p.pieces.empty() || !p.pieces[0].image.first) continue;  // never pushed
    if (!d) d = &deferred.emplace_back();
    read_back(*d, p, kReadStream);
  }
  if (!d) return;
  d->last_step = script.simple(Op::sync, kReadStream);
  d->at_end = true;
  d->ranks = b.ranks();
}

void Bench::State::upload(int rank) {
  for (const Blank& blank : blanks)
    std::memset(arenas.at(kShelf, blank.offset, rank), std::to_integer<int>(blank.value), blank.bytes);
  for (const auto& [image, offset] : uploads)
    std::memcpy(arenas.at(kShelf, offset, rank), image.of(rank).data(), image.of(rank).size());
}

}  // namespace assay
