#include "harness/drive/device_turns.hpp"

#include <fcntl.h>

#include <cerrno>

#include "harness/rank/placing.hpp"

namespace assay {
namespace {

// Bytes of the file. Whoever wants either of the last two passes the gate first, so that one who is to be alone keeps
// newcomers out while it waits for those inside.
constexpr int kTurn = 0, kGate = 1, kMemory = 2;

}  // namespace

void DeviceTurns::set(int byte, short kind, int count) const {
  struct flock lock = {};
  lock.l_type = kind;
  lock.l_whence = SEEK_SET;
  lock.l_start = byte;
  lock.l_len = count;
  while (fcntl(file_, F_OFD_SETLKW, &lock) != 0 && errno == EINTR) {
  }
}

DeviceTurns::Hold::~Hold() {
  if (!turns_) return;
  turns_->set(first_, F_UNLCK, count_);
  if (count_ > 1) turns_->alone_ = false;
}

DeviceTurns::Hold DeviceTurns::turn() { return under_mps() ? allocating() : joining(); }

// Under MPS `allocating`, which the judge may hold already, is all there is.
DeviceTurns::Hold DeviceTurns::joining() {
  if (under_mps() || file_ < 0) return {};
  set(kTurn, F_WRLCK);
  return {*this, kTurn, 1};
}

DeviceTurns::Hold DeviceTurns::allocating() {
  if (file_ < 0 || alone_) return {};
  set(kGate, F_WRLCK);
  set(kMemory, F_RDLCK);
  set(kGate, F_UNLCK);
  return {*this, kMemory, 1};
}

DeviceTurns::Hold DeviceTurns::alone() {
  if (file_ < 0) return {};
  set(kGate, F_WRLCK);
  set(kMemory, F_WRLCK);
  alone_ = true;
  return {*this, kGate, 2};
}

}  // namespace assay
