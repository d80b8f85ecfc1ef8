// The frame codec against a scripted peer: one end of a socket pair that says what a worker never should.
#include "harness/worker/protocol.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <thread>

#include "harness/case/rapid_test.hpp"
#include "harness/device/owned_fd.hpp"

namespace assay {
namespace {

// The wire format, written down a second time: a change of the codec's own header must not pass unseen.
struct WireHeader {
  std::uint32_t magic = kMagic;
  std::uint16_t version = kProtocolVersion, kind = static_cast<std::uint16_t>(Frame::reply);
  std::uint32_t sequence = 7, bytes = 0, spilled = 0;
};

std::size_t open_descriptors() {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) count += !entry.path().empty();
  return count;
}

class Protocol : public ::testing::Test {
 protected:
  void SetUp() override {
    int pair[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    judge_ = OwnedFd(pair[0]);
    peer_ = OwnedFd(pair[1]);
  }

  void say(const void* bytes, std::size_t size, const std::vector<int>& fds = {}) {
    iovec part{const_cast<void*>(bytes), size};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * 8)] = {};
    msghdr out{};
    out.msg_iov = &part;
    out.msg_iovlen = 1;
    if (!fds.empty()) {
      out.msg_control = control;
      out.msg_controllen = CMSG_SPACE(sizeof(int) * fds.size());
      cmsghdr* c = CMSG_FIRSTHDR(&out);
      c->cmsg_level = SOL_SOCKET;
      c->cmsg_type = SCM_RIGHTS;
      c->cmsg_len = CMSG_LEN(sizeof(int) * fds.size());
      std::memcpy(CMSG_DATA(c), fds.data(), sizeof(int) * fds.size());
    }
    ASSERT_EQ(sendmsg(peer_.get(), &out, MSG_NOSIGNAL), static_cast<ssize_t>(size));
  }
  void say(const WireHeader& header, const std::string& payload = "", const std::vector<int>& fds = {}) {
    std::string frame(reinterpret_cast<const char*>(&header), sizeof header);
    frame += payload;
    say(frame.data(), frame.size(), fds);
  }

  std::string refusal(int timeout_ms = 1000) {
    try {
      const auto got = receive_message(judge_.get(), timeout_ms);
      return got ? "a message" : "nothing in time";
    } catch (const ProtocolError& error) {
      return error.what();
    }
  }

  OwnedFd judge_, peer_;
};

TEST_F(Protocol, EveryMessageArrivesAsItWasSent) {
  holds("frames round trip", 150, [&] {
    Message sent;
    sent.kind = static_cast<Frame>(*rc::gen::inRange(0, 10));
    sent.sequence = *rc::gen::arbitrary<std::uint32_t>();
    // Small ones, and both sides of the size above which a payload travels as a memory file.
    const auto size = *rc::gen::oneOf(rc::gen::inRange<std::size_t>(0, 300),
                                      rc::gen::inRange<std::size_t>(kMaxFrame - 40, kMaxFrame + 40));
    sent.payload.resize(size);
    for (std::size_t i = 0; i < size; ++i) sent.payload[i] = static_cast<char>(i * 131 + sent.sequence);
    send_message(peer_.get(), sent);
    const auto got = receive_message(judge_.get(), 1000);
    RC_ASSERT(got.has_value());
    RC_ASSERT(got->kind == sent.kind);
    RC_ASSERT(got->sequence == sent.sequence);
    RC_ASSERT(got->payload == sent.payload);
    RC_ASSERT(got->descriptors.empty());
  });
}

TEST_F(Protocol, AFrameCutAtAnyByteIsRefused) {
  const WireHeader header{.bytes = 5};
  std::string whole(reinterpret_cast<const char*>(&header), sizeof header);
  whole += "hello";
  for (std::size_t k = 0; k < whole.size(); ++k) {
    say(whole.data(), k);
    EXPECT_THROW((void)receive_message(judge_.get(), 1000), ProtocolError) << "cut at byte " << k;
  }
  say(whole.data(), whole.size());
  EXPECT_EQ(receive_message(judge_.get(), 1000)->payload, "hello");
}

TEST_F(Protocol, APeerThatDiesIsAnErrorAndNoSignal) {
  peer_.reset();
  EXPECT_EQ(refusal(), "the peer closed the connection");
  EXPECT_THROW(send_message(judge_.get(), Message{}), ProtocolError);
}

TEST_F(Protocol, EachWrongFieldHasItsSentence) {
  say(WireHeader{.magic = 0x59415342});
  EXPECT_EQ(refusal(), "a frame does not start with the protocol's magic");
  say(WireHeader{.version = kProtocolVersion + 1});
  EXPECT_EQ(refusal(), "the peer speaks another version of the protocol");
  say(WireHeader{.kind = static_cast<std::uint16_t>(Frame::failed) + 1});
  EXPECT_EQ(refusal(), "a frame has an unknown kind");
  say(WireHeader{.bytes = 6}, "hello");
  EXPECT_EQ(refusal(), "a frame's length differs from its header");
  say(WireHeader{.bytes = 0xFFFFFFFF}, "hello");
  EXPECT_EQ(refusal(), "a frame's length differs from its header");
}

TEST_F(Protocol, GarbageIsRefusedWhateverItIs) {
  holds("garbage", 300, [&] {
    const auto bytes = *rc::gen::container<std::string>(rc::gen::arbitrary<char>());
    say(bytes.data(), bytes.size());
    // Four random bytes are the magic once in four thousand million.
    RC_ASSERT_THROWS_AS((void)receive_message(judge_.get(), 1000), ProtocolError);
  });
}

TEST_F(Protocol, AFrameOverTheLimitIsRefused) {
  const std::string payload(kMaxFrame + 100, 'x');
  say(WireHeader{.bytes = static_cast<std::uint32_t>(payload.size())}, payload);
  EXPECT_EQ(refusal(), "a frame is larger than the protocol allows");
}

TEST_F(Protocol, ASpilledPayloadMustBringAMemoryFileAsLongAsItSays) {
  say(WireHeader{.bytes = 100, .spilled = 1});
  EXPECT_EQ(refusal(), "a large message came without its memory file");
  OwnedFd small(memfd_create("small", MFD_CLOEXEC));
  ASSERT_EQ(ftruncate(small.get(), 99), 0);
  const std::size_t before = open_descriptors();
  say(WireHeader{.bytes = 100, .spilled = 1}, "", {small.get()});
  EXPECT_EQ(refusal(), "a large message is shorter than its header says");
  // Four gigabytes are refused before anything of that size is allocated.
  say(WireHeader{.bytes = 0xFFFFFFFF, .spilled = 1}, "", {small.get()});
  EXPECT_EQ(refusal(), "a large message came without its memory file");
  int pipes[2];
  ASSERT_EQ(pipe2(pipes, O_CLOEXEC), 0);
  OwnedFd read_end(pipes[0]), write_end(pipes[1]);
  say(WireHeader{.bytes = 1, .spilled = 1}, "", {read_end.get()});
  EXPECT_EQ(refusal(), "a large message is shorter than its header says") << "a pipe must not make the judge wait";
  EXPECT_EQ(open_descriptors(), before + 2) << "a refused frame leaves no descriptor behind";
}

TEST_F(Protocol, DescriptorsArriveInOrderAndAreClosedOnExec) {
  OwnedFd first(memfd_create("first", MFD_CLOEXEC)), second(memfd_create("second", MFD_CLOEXEC));
  Message sent;
  sent.payload = std::string(kMaxFrame + 1, 'y');  // a spilled payload's own descriptor must not be handed on
  sent.descriptors = {first.get(), second.get()};
  send_message(peer_.get(), sent);
  const auto got = receive_message(judge_.get(), 1000);
  ASSERT_TRUE(got);
  ASSERT_EQ(got->descriptors.size(), 2u);
  const int expected[] = {first.get(), second.get()};
  for (std::size_t i = 0; i < 2; ++i) {
    struct stat a = {}, b = {};
    ASSERT_EQ(fstat(expected[i], &a), 0);
    ASSERT_EQ(fstat(got->descriptors[i], &b), 0);
    EXPECT_EQ(a.st_ino, b.st_ino);
    EXPECT_TRUE(fcntl(got->descriptors[i], F_GETFD) & FD_CLOEXEC);
    close(got->descriptors[i]);
  }
}

TEST_F(Protocol, DescriptorsOfARefusedFrameAreClosed) {
  OwnedFd file(memfd_create("file", MFD_CLOEXEC));
  const std::size_t before = open_descriptors();
  for (int i = 0; i < 20; ++i) {
    say(WireHeader{.magic = 1}, "", {file.get(), file.get(), file.get()});
    EXPECT_EQ(refusal(), "a frame does not start with the protocol's magic");
  }
  EXPECT_EQ(open_descriptors(), before);
}

TEST_F(Protocol, TooManyDescriptorsAreRefusedBeforeTheyAreSent) {
  Message sent;
  sent.descriptors.assign(251, judge_.get());
  EXPECT_THROW(send_message(peer_.get(), sent), ProtocolError);
  EXPECT_EQ(refusal(20), "nothing in time");
}

TEST_F(Protocol, ASlowPeerIsWaitedForAndASilentOneIsNot) {
  const auto start = std::chrono::steady_clock::now();
  EXPECT_FALSE(receive_message(judge_.get(), 50));
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(45));
  std::thread slow([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    send_message(peer_.get(), Message{});
  });
  EXPECT_TRUE(receive_message(judge_.get(), 5000));
  slow.join();
}

}  // namespace
}  // namespace assay
