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
#include <string>
#include <string_view>

namespace assay {

class ResultWriter {
 public:
  // Creates the file, which must not exist yet with lines in it. Throws std::runtime_error with one sentence.
  explicit ResultWriter(const std::string& path);
  explicit ResultWriter(int fd);  // a pipe to the parent of --jobs; not owned
  ~ResultWriter();
  ResultWriter(const ResultWriter&) = delete;
  ResultWriter& operator=(const ResultWriter&) = delete;

  void line(const nlohmann::json&);      // throws std::runtime_error: disk full and the like
  void raw_line(std::string_view text);  // a line that a --jobs child wrote, without its newline

 private:
  std::string name_;
  int fd_ = -1;
  bool owned_ = false;
  bool broken_ = false;
};

}  // namespace assay
