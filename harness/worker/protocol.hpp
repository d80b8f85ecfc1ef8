// protocol.hpp: frames between a judge and its worker, over one SEQPACKET socket.
//
// Promises: a frame is {magic, version, kind, sequence, bytes} and its payload, at most 64 KiB; larger payloads travel
// as a memory file. Descriptors travel by SCM_RIGHTS. Judge and worker match exactly; the ABI version is apart.
// Anything else (unknown kind, wrong sequence, oversize, short frame) throws ProtocolError and ends the worker.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

inline constexpr std::uint32_t kMagic = 0x59415341;  // "ASAY"
inline constexpr std::uint16_t kProtocolVersion = 4;
inline constexpr std::size_t kMaxFrame = 64 * 1024;

enum class Frame : std::uint16_t { hello, map, load, open_device, join, init, run, quit, reply, failed };

class ProtocolError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Message {
  Frame kind = Frame::reply;
  std::uint32_t sequence = 0;
  std::string payload;             // JSON; empty for a run of which no call earns a receipt
  std::vector<int> descriptors;    // the receiver owns them
};

void send_message(int socket, const Message&);               // throws ProtocolError when the peer is gone
// Waits up to timeout_ms (negative: for ever). nullopt: time is up. Throws ProtocolError on end of file or garbage.
[[nodiscard]] std::optional<Message> receive_message(int socket, int timeout_ms);

}  // namespace assay
