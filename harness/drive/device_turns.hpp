// device_turns.hpp: what judges that share a GPU owe each other: a turn for each run, and quiet for one that measures.
//
// Two contexts with work at once are time-sliced in slices of milliseconds, so runs take turns; under MPS they run side
// by side, but for one that is alone. Memory in use is known for a device as a whole only: whoever has to know its own is
// alone, and nobody else allocates meanwhile.
// Promises: holds end with their objects, and with their process. Without a file nothing is held. A hold of one kind is
// not taken twice by one judge; allocating while alone is fine. Nobody who waits to be alone starves.
// Who calls it: Bench.
//
//   const DeviceTurns::Hold turn = turns.turn();
#pragma once

#include <optional>
#include <utility>

namespace assay {

class DeviceTurns {
 public:
  // An open file of this judge's own, of a file that all judges of the GPU have; kept open by the caller.
  explicit DeviceTurns(std::optional<int> file) : file_(file.value_or(-1)) {}

  class [[nodiscard]] Hold {
   public:
    Hold() = default;
    Hold(Hold&& other) noexcept : turns_(std::exchange(other.turns_, nullptr)), first_(other.first_), count_(other.count_) {}
    Hold& operator=(Hold&&) = delete;
    ~Hold();

   private:
    friend class DeviceTurns;
    Hold(DeviceTurns& turns, int first, int count) : turns_(&turns), first_(first), count_(count) {}
    DeviceTurns* turns_ = nullptr;
    int first_ = 0, count_ = 0;  // bytes of the file
  };

  Hold turn();        // for the length of a run; the judge holds nothing else
  Hold joining();     // while a group's first kernels run; the judge may be allocating
  Hold allocating();  // while device memory is taken outside a run; shared
  Hold alone();       // no other judge allocates or runs

 private:
  void set(int byte, short kind, int count = 1) const;

  int file_;
  bool alone_ = false;
};

}  // namespace assay
