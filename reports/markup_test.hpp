// reports/markup_test.hpp: reads the markup that the page's tests look at. Knows only what our templates write.
//
// Who calls it: tests only.
#pragma once

#include <algorithm>
#include <regex>
#include <string>
#include <vector>

namespace assay {

// The tags of a page in order, each with the names of its attributes, no values: "a class href", "/a".
inline std::vector<std::string> skeleton(const std::string& html) {
  std::vector<std::string> tags;
  for (std::size_t at = html.find('<'); at != std::string::npos; at = html.find('<', at + 1)) {
    std::string tag;
    bool quoted = false;
    std::size_t end = at + 1;
    for (; end < html.size() && (quoted || html[end] != '>'); ++end) {
      if (html[end] == '"') quoted = !quoted;
      if (!quoted && html[end] != '"') tag += html[end];
    }
    tags.push_back(tag);
    at = end;
  }
  return tags;
}

inline std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++count;
  return count;
}

// Everything that a pattern's first group matches.
inline std::vector<std::string> matches(const std::string& text, const char* pattern) {
  const std::regex expression(pattern);
  std::vector<std::string> found;
  for (auto it = std::sregex_iterator(text.begin(), text.end(), expression); it != std::sregex_iterator(); ++it)
    found.push_back((*it)[1]);
  return found;
}

// Empty where each tag is closed in its turn, else the first that is not.
inline std::string unbalanced(const std::string& html) {
  const std::vector<std::string> alone{"meta", "!DOCTYPE", "br"};
  std::vector<std::string> open;
  for (const std::string& tag : skeleton(html)) {
    const std::string name = tag.substr(0, tag.find_first_of(" \n/", tag.starts_with('/') ? 1 : 0));
    if (std::ranges::find(alone, name) != alone.end() || tag.ends_with('/')) continue;
    if (!tag.starts_with('/')) {
      open.push_back(name);
    } else if (open.empty() || "/" + open.back() != name) {
      return tag;
    } else {
      open.pop_back();
    }
  }
  return open.empty() ? "" : open.back();
}

}  // namespace assay
