#include "conformance/report_folder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "harness/result/verdict_file.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const std::string& what, const char* option) {
  throw std::runtime_error(what + "; name another with " + option);
}

void need_folder(const std::string& path, const char* what, const char* option) {
  std::error_code error;
  if (path.empty()) refuse(std::string("the ") + what + " folder has no name", option);
  fs::create_directories(path, error);
  if (error || !fs::is_directory(path))
    refuse(std::string("cannot create the ") + what + " folder " + path +
               (error ? " (" + error.message() + ")" : " (something else has that name)"),
           option);
  if (access(path.c_str(), W_OK | X_OK) != 0)
    refuse(std::string("cannot write into the ") + what + " folder " + path, option);
}

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file) throw std::runtime_error("cannot read " + path);
  return text;
}

void need_file_name(const std::string& path, const char* option) {
  std::error_code error;
  if (fs::exists(path, error) && !fs::is_regular_file(path, error)) refuse(path + " is not a file", option);
}

}  // namespace

ReportFolder::ReportFolder(const std::string& report, const std::string& corpus, Earlier earlier)
    : results_(report + "/results.jsonl"), receipts_(report + "/receipts.jsonl"), junit_(report + "/junit.xml"),
      verdict_(report + "/verdict.json") {
  need_folder(report, "report", "--report");
  need_folder(report + "/trials", "trial", "--report");
  if (!corpus.empty()) need_folder(corpus, "corpus", "--corpus");
  need_file_name(results_, "--report");
  need_file_name(receipts_, "--report");
  need_file_name(junit_, "--report");
  need_file_name(verdict_, "--report");
  lock_ = OwnedFd(open((report + "/.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (lock_.get() < 0) refuse("cannot write into the report folder " + report, "--report");
  if (flock(lock_.get(), LOCK_EX | LOCK_NB) != 0) refuse("another run is writing into " + report, "--report");
  std::error_code error;
  fs::remove(verdict_, error);
  if (earlier == Earlier::kept) return;
  for (const char* name : {"results", "receipts"})
    if (const std::string path = report + "/" + name; !error && fs::exists(path + ".jsonl"))
      fs::rename(path + ".jsonl", path + ".previous.jsonl", error);
  if (error) refuse("cannot put the last results of " + report + " aside (" + error.message() + ")", "--report");
}

void ReportFolder::write_junit(const std::string& text) const {
  std::ofstream file(junit_);
  file << text;
  file.close();
  if (!file) throw std::runtime_error("cannot write " + junit_);
}

std::string ReportFolder::write_verdict() const {
  const RunFiles files{text_of(results_), text_of(receipts_)};
  const std::string text = verdict_text(files);
  const std::string part = verdict_ + ".part";
  {
    const OwnedFd file(open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (file.get() < 0) throw std::runtime_error("cannot create " + part);
    const bool written = write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
    if (!written || fsync(file.get()) != 0) {
      unlink(part.c_str());
      throw std::runtime_error("cannot write " + part);
    }
  }
  std::error_code error;
  fs::rename(part, verdict_, error);
  if (error) throw std::runtime_error("cannot name " + verdict_ + " (" + error.message() + ")");
  return verify_verdict(text, files).digest;
}

}  // namespace assay
