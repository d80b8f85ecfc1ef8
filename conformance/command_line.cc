#include "conformance/command_line.hpp"

#include <stdexcept>

namespace assay {
namespace {

// What shell_word made of them. Throws std::invalid_argument for a quote without its end.
std::vector<std::string> words_in(const std::string& command) {
  std::vector<std::string> words;
  bool within = false, quoted = false;
  for (std::size_t i = 0; i < command.size(); ++i) {
    const char c = command[i];
    if (c == ' ' && !quoted) {
      within = false;
      continue;
    }
    if (!within) words.emplace_back();
    within = true;
    if (c == '\'') {
      quoted = !quoted;
    } else if (c == '\\' && !quoted && i + 1 < command.size()) {
      words.back() += command[++i];
    } else {
      words.back() += c;
    }
  }
  if (quoted) throw std::invalid_argument("a quote without its end");
  return words;
}

}  // namespace

std::string shell_word(const std::string& word) {
  const bool plain = !word.empty() && word.find_first_not_of(
                                          "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                          "_-./=+:,@%") == std::string::npos;
  if (plain) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::vector<std::string> words_of(const Options& o) {
  std::vector<std::string> words = {"check"};
  const auto add = [&](const char* name, const std::string& value) {
    words.emplace_back(name);
    words.push_back(value);
  };
  if (!o.library.empty()) words.push_back(o.library);
  if (!o.worker.empty()) add("--worker", o.worker);
  for (const auto& s : o.slots) add("--slot", s);
  for (const auto& r : o.rules) add("--rule", r);
  for (const auto& v : o.variants) add("--variant", v);
  for (const auto& d : o.devices) add("--device", std::string(name_of(d)));
  for (const auto& d : o.dtypes) add("--dtype", std::string(name_of(d)));
  for (const int n : o.ranks) add("--ranks", std::to_string(n));
  if (o.ordinal != 0) add("--device-ordinal", std::to_string(o.ordinal));
  if (!o.waivers.empty()) add("--waivers", o.waivers);
  if (!o.corpus.empty()) add("--corpus", o.corpus);
  if (o.jobs != 0) add("--jobs", std::to_string(o.jobs));
  if (o.in_process) words.emplace_back("--in-process");
  if (o.require_isolation > IsolationLevel::trusting)
    add("--require-isolation", std::string(name_of(o.require_isolation)));
  if (o.gate)
    words.emplace_back("--gate");
  else
    add("--tier", std::string(name_of(o.tier)));
  add("--seed", std::to_string(o.seed));
  return words;
}

std::string command_of(const Options& options) {
  std::string text = "assay";
  for (const std::string& word : words_of(options)) text += " " + shell_word(word);
  return text;
}

Options options_of(const std::string& command) {
  std::vector<std::string> words = words_in(command);
  if (words.empty()) throw std::invalid_argument("is empty");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const ParseOutcome parsed = parse_options(static_cast<int>(words.size()), argv.data());
  if (parsed.done || parsed.options.command != Options::Command::check)
    throw std::invalid_argument("is not a command of `assay check`");
  return parsed.options;
}

}  // namespace assay
