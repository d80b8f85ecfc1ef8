#include "harness/result/writer.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

#include "harness/case/json.hpp"
#include "harness/result/records.hpp"

namespace assay {
namespace {

std::runtime_error failure(const std::string& what, int error) {
  return std::runtime_error(what + ": " + std::strerror(error));
}

// Closes on the way out of a constructor that throws.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int get() const noexcept { return fd_; }
  int release() noexcept { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

// What stands behind the last newline: none of it, or all of a line.
void mend_last_line(int fd, off_t size, const std::string& path) {
  std::string tail;
  off_t begin = size;
  for (bool found = false; begin > 0 && !found;) {
    char chunk[65536];
    const off_t from = std::max<off_t>(0, begin - static_cast<off_t>(sizeof chunk));
    const ssize_t n = ::pread(fd, chunk, static_cast<std::size_t>(begin - from), from);
    if (n != begin - from) throw failure("cannot read " + path, n < 0 ? errno : EIO);
    const std::string_view read(chunk, static_cast<std::size_t>(n));
    const std::size_t newline = read.rfind('\n');
    found = newline != std::string_view::npos;
    tail.insert(0, found ? read.substr(newline + 1) : read);
    begin = found ? from + static_cast<off_t>(newline) + 1 : from;
  }
  if (tail.empty()) return;
  bool whole = true;
  try {
    (void)parse_strict(tail, path, results_line_limit);
  } catch (const JsonError&) {
    whole = false;
  }
  if (whole && ::write(fd, "\n", 1) != 1) throw failure("cannot write to " + path, errno);
  if (!whole && ::ftruncate(fd, begin) != 0) throw failure("cannot cut the torn last line off " + path, errno);
}

}  // namespace

ResultWriter::ResultWriter(const std::string& path, Lines lines) : name_(path), owned_(true) {
  Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (file.get() < 0) throw failure("cannot create " + path, errno);
  // A second run that is just starting has not written yet; the lock tells it apart. Where locks are not supported
  // the size alone has to do.
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    throw std::runtime_error(path + " is being written by another run; choose another file");
  }
  struct stat seen {};
  if (::fstat(file.get(), &seen) != 0) throw failure("cannot look at " + path, errno);
  if (lines == Lines::kept) mend_last_line(file.get(), seen.st_size, path);
  if (lines == Lines::none_yet && seen.st_size > 0)
    throw std::runtime_error(path + " already holds a run; move it away or choose another file");
  fd_ = file.release();
}

ResultWriter::ResultWriter(int fd) : name_("descriptor " + std::to_string(fd)), fd_(fd) {}

ResultWriter::~ResultWriter() {
  if (owned_ && fd_ >= 0) ::close(fd_);
}

void ResultWriter::line(const nlohmann::json& record) { raw_line(canonical(record)); }

void ResultWriter::raw_line(std::string_view text) {
  if (text.empty() || text.find('\n') != std::string_view::npos) {
    throw std::runtime_error("a line of results is one line of text");
  }
  if (text.size() > results_line_limit) {
    throw std::runtime_error("a line of results holds at most " + std::to_string(results_line_limit) + " bytes, not " +
                             std::to_string(text.size()));
  }
  if (broken_) throw ResultsUnwritten("nothing more can be written to " + name_ + ": an earlier line failed");
  const std::string whole = std::string(text) + '\n';
  for (std::size_t done = 0; done < whole.size();) {
    const ssize_t wrote = ::write(fd_, whole.data() + done, whole.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) {
      broken_ = true;
      throw ResultsUnwritten(failure("cannot write to " + name_, errno).what());
    }
    done += static_cast<std::size_t>(wrote);
  }
}

}  // namespace assay
