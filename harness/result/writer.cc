#include "harness/result/writer.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

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

}  // namespace

ResultWriter::ResultWriter(const std::string& path) : name_(path), owned_(true) {
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (file.get() < 0) throw failure("cannot create " + path, errno);
  // A second run that is just starting has not written yet; the lock tells it apart. Where locks are not supported
  // the size alone has to do.
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    throw std::runtime_error(path + " is being written by another run; choose another file");
  }
  struct stat seen {};
  if (::fstat(file.get(), &seen) != 0) throw failure("cannot look at " + path, errno);
  if (seen.st_size > 0) throw std::runtime_error(path + " already holds a run; move it away or choose another file");
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
  if (broken_) throw std::runtime_error("nothing more can be written to " + name_ + ": an earlier line failed");
  const std::string whole = std::string(text) + '\n';
  for (std::size_t done = 0; done < whole.size();) {
    const ssize_t wrote = ::write(fd_, whole.data() + done, whole.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) {
      broken_ = true;
      throw failure("cannot write to " + name_, errno);
    }
    done += static_cast<std::size_t>(wrote);
  }
}

}  // namespace assay
