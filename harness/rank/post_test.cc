#include "harness/rank/post.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "harness/device/memory.hpp"

namespace assay {
namespace {

std::size_t open_descriptors() {
  const auto list = std::filesystem::directory_iterator("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(list), end(list)));
}

OwnedFd file_of(off_t bytes) {
  OwnedFd file(memfd_create("post-test", MFD_CLOEXEC));
  EXPECT_EQ(ftruncate(file.get(), bytes), 0);
  return file;
}
off_t size_of_file(const OwnedFd& file) {
  struct stat info {};
  EXPECT_EQ(fstat(file.get(), &info), 0);
  return info.st_size;
}

TEST(Post, EachMemberGetsWhatEveryOtherSentItWithTheSendersRank) {
  constexpr int kWorld = 4;
  auto post = std::make_unique<Post>(kWorld);
  std::vector<PostBox> members;
  for (int r = 0; r < kWorld; ++r) members.emplace_back(r, post->descriptors(r));
  post.reset();  // members hold sockets of their own
  for (int from = 0; from < kWorld; ++from)
    for (int to = 0; to < kWorld; ++to)
      if (to != from) members[static_cast<std::size_t>(from)].send(to, file_of(100 * from + to).get());
  for (int to = 0; to < kWorld; ++to) {
    std::vector<int> senders;
    for (int i = 1; i < kWorld; ++i) {
      const PostBox::Letter letter = members[static_cast<std::size_t>(to)].receive();
      senders.push_back(letter.from);
      EXPECT_EQ(size_of_file(letter.descriptor), 100 * letter.from + to);
    }
    std::sort(senders.begin(), senders.end());
    std::vector<int> others;
    for (int r = 0; r < kWorld; ++r)
      if (r != to) others.push_back(r);
    EXPECT_EQ(senders, others);
  }
}

TEST(Post, NothingSentIsAnErrorAndNeverAWait) {
  const Post post(2);
  const PostBox one(0, post.descriptors(0));
  EXPECT_THROW((void)one.receive(), DeviceError);
  EXPECT_THROW(PostBox(1, {}), DeviceError);
}

TEST(Post, LeavesNoDescriptorBehind) {
  const std::size_t before = open_descriptors();
  {
    const Post post(3);
    const PostBox one(0, post.descriptors(0)), two(1, post.descriptors(1));
    one.send(1, file_of(1).get());
    one.send(1, file_of(2).get());  // never taken
    EXPECT_EQ(size_of_file(two.receive().descriptor), 1);
  }
  EXPECT_EQ(open_descriptors(), before);
}

}  // namespace
}  // namespace assay
