// harness/result/writer.hpp: appends lines to results.jsonl, each on disk (in the kernel) before the call returns.
//
// Promises: a line is written whole, or the call throws and so does every later one: nothing follows a torn line. Two
// runs never share a file. Not promised: fsync (a lost machine may lose lines, a killed judge does not).
// Who calls it: the judge; with --jobs, each child through a pipe and the parent into the file. A writer to a pipe
// ignores SIGPIPE itself.
//
//   ResultWriter out("results.jsonl");
//   out.line(to_json(run));
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <stdexcept>
#include <string>
#include <string_view>

namespace assay {

// A line did not reach the file: disk full and the like.
class ResultsUnwritten : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class ResultWriter {
 public:
  enum class Lines { none_yet, kept };  // what the file may hold already
  // Creates the file, which must not exist yet with lines in it; or goes on with it: a last line that was cut off goes,
  // one that lacks its newline alone gets it. Throws std::runtime_error with one sentence.
  explicit ResultWriter(const std::string& path, Lines = Lines::none_yet);
  explicit ResultWriter(int fd);  // a pipe to the parent of --jobs; not owned
  ~ResultWriter();
  ResultWriter(const ResultWriter&) = delete;
  ResultWriter& operator=(const ResultWriter&) = delete;

  void line(const nlohmann::json&);      // throws ResultsUnwritten; std::runtime_error for what is no line
  void raw_line(std::string_view text);  // a line that a --jobs child wrote, without its newline

 private:
  std::string name_;
  int fd_ = -1;
  bool owned_ = false;
  bool broken_ = false;
};

}  // namespace assay
