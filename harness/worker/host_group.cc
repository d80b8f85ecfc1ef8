// Groups of host ranks: every collective is a chain of gathers through the mailboxes of a Segment.
#include <algorithm>
#include <cstring>
#include <vector>

#include "harness/device/host/host_device.hpp"
#include "harness/tensor/half.hpp"
#include "harness/worker/segment_group.hpp"

namespace assay {
namespace {

constexpr std::uint64_t kSymmetricAlignment = 4096;

// A tensor as it was described when its collective was queued: the descriptor dies with the entry.
struct Cells {
  std::byte* data = nullptr;
  DLDataType dtype{};
  std::vector<std::int64_t> shape, strides;
  std::int64_t count = 1;
  std::size_t size = 0;  // bytes of a cell
  bool contiguous = true;

  [[nodiscard]] std::byte* at(std::int64_t cell) const {
    if (contiguous) return data + static_cast<std::size_t>(cell) * size;
    std::int64_t offset = 0;
    for (std::size_t d = shape.size(); d-- > 0; cell /= shape[d]) offset += cell % shape[d] * strides[d];
    return data + offset * static_cast<std::int64_t>(size);
  }
  void read(std::int64_t first, std::int64_t n, std::byte* to) const {
    if (contiguous) {
      std::memcpy(to, at(first), static_cast<std::size_t>(n) * size);
    } else {
      for (std::int64_t i = 0; i < n; ++i) std::memcpy(to + static_cast<std::size_t>(i) * size, at(first + i), size);
    }
  }
  void write(std::int64_t first, std::int64_t n, const std::byte* from) const {
    if (contiguous) {
      std::memcpy(at(first), from, static_cast<std::size_t>(n) * size);
    } else {
      for (std::int64_t i = 0; i < n; ++i) std::memcpy(at(first + i), from + static_cast<std::size_t>(i) * size, size);
    }
  }
};

Cells cells_of(const DLTensor& t) {
  Cells c;
  c.data = static_cast<std::byte*>(t.data) + t.byte_offset;
  c.dtype = t.dtype;
  c.size = t.dtype.bits / 8u * t.dtype.lanes;
  c.shape.assign(t.shape, t.shape + t.ndim);
  c.strides.assign(t.strides, t.strides + t.ndim);
  for (std::size_t d = c.shape.size(); d-- > 0;) {
    c.contiguous = c.contiguous && (c.shape[d] <= 1 || c.strides[d] == c.count);
    c.count *= c.shape[d];
  }
  return c;
}

bool same(const DLDataType& a, const DLDataType& b) {
  return a.code == b.code && a.bits == b.bits && a.lanes == b.lanes;
}
bool is(const DLDataType& t, std::uint8_t code, std::uint8_t bits) {
  return t.code == code && t.bits == bits && t.lanes == 1;
}

// Sums in rank order, in double, rounded once: the same bytes on every rank and in every run.
template <class Stored, class Load, class Store>
void sum(const std::vector<const std::byte*>& parts, std::byte* to, std::int64_t n, Load load, Store store) {
  for (std::int64_t i = 0; i < n; ++i) {
    Stored cell;
    double total = -0.0;  // the one start that keeps the sign of a zero
    for (const std::byte* part : parts) {
      std::memcpy(&cell, part + static_cast<std::size_t>(i) * sizeof cell, sizeof cell);
      total += load(cell);
    }
    cell = store(total);
    std::memcpy(to + static_cast<std::size_t>(i) * sizeof cell, &cell, sizeof cell);
  }
}

void sum_cells(const DLDataType& dtype, const std::vector<const std::byte*>& parts, std::byte* to, std::int64_t n) {
  const auto narrow = [](double v) { return static_cast<float>(v); };
  if (is(dtype, kDLFloat, 32))
    sum<float>(
        parts, to, n, [](float v) { return v; }, narrow);
  else if (is(dtype, kDLFloat, 16))
    sum<std::uint16_t>(parts, to, n, half::from_f16, [&](double v) { return half::to_f16(narrow(v)); });
  else
    sum<std::uint16_t>(parts, to, n, half::from_bf16, [&](double v) { return half::to_bf16(narrow(v)); });
}

class HostGroup final : public SegmentGroup {
 public:
  HostGroup(const Membership& who, int segment, BlackBox& box) : SegmentGroup(who, segment, box, table()) {}

 private:
  static const assay_group_api& table() {
    static const assay_group_api api = {sizeof(assay_group_api), &HostGroup::exchange, &HostGroup::symmetric,
                                        &HostGroup::all_reduce_sum, &HostGroup::all_gather};
    return api;
  }

  // Chunk by chunk: read mine, meet, hand every rank's chunk to `use`.
  template <class Use>
  void exchange_chunks(Kind kind, const Cells& in, Use&& use) {
    const auto most = static_cast<std::int64_t>(kMailboxBytes / in.size);
    const Announcement said{static_cast<std::uint32_t>(kind),
                            static_cast<std::uint32_t>(in.dtype.code) << 16 | in.dtype.bits,
                            static_cast<std::uint64_t>(in.count)};
    std::vector<const std::byte*> parts(static_cast<std::size_t>(world()));
    for (std::int64_t done = 0; done < in.count; done += most) {
      const std::int64_t n = std::min(most, in.count - done);
      in.read(done, n, segment_.mailbox(meetings_, rank()));
      const Outcome o = meet(said, [&](std::uint64_t now) {
        for (std::size_t r = 0; r < parts.size(); ++r) parts[r] = segment_.mailbox(now, static_cast<int>(r));
        use(done, n, parts);
      });
      if (!o.ok()) return note(o);
    }
  }

  void reduce(const Cells& in, const Cells& out) {
    std::vector<std::byte> total(std::min<std::size_t>(kMailboxBytes, static_cast<std::size_t>(in.count) * in.size));
    exchange_chunks(Kind::all_reduce_sum, in, [&](std::int64_t done, std::int64_t n, const auto& parts) {
      sum_cells(in.dtype, parts, total.data(), n);
      out.write(done, n, total.data());
    });
  }

  void gather(const Cells& in, const Cells& out) {
    exchange_chunks(Kind::all_gather, in, [&](std::int64_t done, std::int64_t n, const auto& parts) {
      for (std::size_t r = 0; r < parts.size(); ++r)
        out.write(static_cast<std::int64_t>(r) * in.count + done, n, parts[r]);
    });
  }

  template <class Work>
  static assay_status on_host(const assay_group* handle, Work&& work) noexcept {
    return guarded(handle, [&](SegmentGroup& g) {
      auto* host = dynamic_cast<HostGroup*>(&g);
      return host && work(*host);
    });
  }

  static assay_status symmetric(const assay_group* handle, std::size_t bytes, void** peers) {
    return on_host(handle, [&](HostGroup& g) {
      const std::uint64_t span = (bytes + kSymmetricAlignment - 1) / kSymmetricAlignment * kSymmetricAlignment;
      if (!g.may_exchange() || !peers || span < bytes || span > kSymmetricBytes - g.symmetric_used_) return false;
      Outcome o;
      g.as_waiting([&] { o = g.meet({static_cast<std::uint32_t>(Kind::symmetric), 0, bytes}); });
      if (!o.ok()) {
        g.note(o);
        return false;
      }
      for (int r = 0; r < g.world(); ++r) peers[r] = g.segment_.symmetric(r) + g.symmetric_used_;
      g.symmetric_used_ += span;
      return true;
    });
  }

  static assay_status all_reduce_sum(const assay_group* handle, assay_host_stream* stream, assay_in in, assay_out out) {
    return on_host(handle, [&](HostGroup& g) {
      if (!in || !out) return false;
      const Cells from = cells_of(*in), to = cells_of(*out);
      const bool float_cells =
          is(from.dtype, kDLFloat, 32) || is(from.dtype, kDLFloat, 16) || is(from.dtype, kDLBfloat, 16);
      if (!float_cells || !same(from.dtype, to.dtype) || from.count != to.count) return false;
      return submit_trusted(stream, [&g, from, to] { g.as_waiting([&] { g.reduce(from, to); }); }).ok();
    });
  }

  static assay_status all_gather(const assay_group* handle, assay_host_stream* stream, assay_in in, assay_out out) {
    return on_host(handle, [&](HostGroup& g) {
      if (!in || !out) return false;
      const Cells from = cells_of(*in), to = cells_of(*out);
      if (from.size == 0 || !same(from.dtype, to.dtype) || to.count != from.count * g.world()) return false;
      return submit_trusted(stream, [&g, from, to] { g.as_waiting([&] { g.gather(from, to); }); }).ok();
    });
  }

  std::uint64_t symmetric_used_ = 0;
};

}  // namespace

std::unique_ptr<Group> make_host_group(const Membership& who, int segment, BlackBox& box) {
  return std::make_unique<HostGroup>(who, segment, box);
}

}  // namespace assay
