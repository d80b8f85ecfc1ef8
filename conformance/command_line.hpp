// command_line.hpp: the words that say what a run judges and how, both ways: a run line's command is what reproduces
// the run, what its judges are started with, and what --resume goes on with.
//
// Promises: options_of(command_of(o)) judges what o judges. Where it is reported and by how many judges is not part of
// it, but for --jobs where it was given. Who calls it: check.cc, resume.cc.
#pragma once

#include <string>
#include <vector>

#include "conformance/options.hpp"

namespace assay {

[[nodiscard]] std::vector<std::string> words_of(const Options&);  // "check", "./libmine.so", "--tier", ...
[[nodiscard]] std::string command_of(const Options&);             // "assay check ./libmine.so ...", fit for a shell
// Throws std::invalid_argument where it is no command of `assay check`.
[[nodiscard]] Options options_of(const std::string& command);

// Quoted where a shell would read it otherwise.
[[nodiscard]] std::string shell_word(const std::string&);

}  // namespace assay
