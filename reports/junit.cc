#include "reports/junit.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <string_view>
#include <vector>

#include "harness/result/failure_table.hpp"
#include "harness/result/text.hpp"

namespace assay {
namespace {

constexpr std::size_t kTrialShown = 4096;  // bytes of its JSON; a longer one is a file's business

// Attributes would turn line breaks into spaces; there they are references.
enum class Place { attribute, content };

std::string escaped(std::string_view text, Place place) {
  std::string out;
  while (!text.empty()) {
    const char32_t c = take_code_point(text);
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\n':
        out += place == Place::attribute ? "&#10;" : "\n";
        break;
      case '\t':
        out += "&#9;";
        break;
      case 0xFFFE:
      case 0xFFFF:  // no characters of XML
        append_code_point(out, 0xFFFD);
        break;
      default:
        if (c >= 0x20 && (c < 0x7F || c >= 0xA0)) append_code_point(out, c);
    }
  }
  return out;
}

std::string attribute(std::string_view name, std::string_view value) {
  return " " + std::string(name) + "=\"" + escaped(value, Place::attribute) + "\"";
}

std::string attribute(std::string_view name, std::int64_t value) { return attribute(name, std::to_string(value)); }

std::string attribute_seconds(std::string_view name, double seconds) {
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), "%.3f", seconds);
  return attribute(name, std::string_view(text.data()));
}

struct Counts {
  std::int64_t tests = 0, failures = 0, errors = 0, skipped = 0;
  void add(const Counts& other) {
    tests += other.tests;
    failures += other.failures;
    errors += other.errors;
    skipped += other.skipped;
  }
  [[nodiscard]] std::string attributes() const {
    return attribute("tests", tests) + attribute("failures", failures) + attribute("errors", errors) +
           attribute("skipped", skipped);
  }
};

struct Suite {
  std::string slot, device;
  Counts counts;
  std::string cases;
};

std::string first_line(std::string_view text) { return std::string(text.substr(0, text.find('\n'))); }

std::string body_of(const FailureRecord& f) {
  std::string out = f.text + "\n";
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) out += std::string(name) + ": " + value + "\n";
  };
  add("replay", f.replay);
  add("trial", f.trial_text);
  add("where", f.pattern);
  add("bound", f.bound);
  add("confirmed", f.confirmed);
  add("trial file", f.trial_file);
  if (!f.trial.is_null()) {
    const std::string trial = f.trial.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    add("trial as JSON",
        trial.size() <= kTrialShown ? trial : std::to_string(trial.size()) + " bytes, see the results");
  }
  return out;
}

std::string outcome(std::string_view element, std::string_view type, const std::string& message,
                    const std::string& body) {
  std::string out = "      <" + std::string(element);
  if (!message.empty()) out += attribute("message", message);
  if (!type.empty()) out += attribute("type", type);
  return out + (body.empty() ? "/>\n" : ">" + escaped(body, Place::content) + "</" + std::string(element) + ">\n");
}

class Document {
 public:
  explicit Document(bool gate) : gate_(gate) {}

  // The case of one subject: its rule line, its failures, or both.
  void add(const Subject& subject, const RuleRecord* rule, const std::vector<const FailureRecord*>& failures) {
    Suite& suite = suite_of(subject);
    ++suite.counts.tests;
    std::string name = subject.rule;
    if (!subject.variant.empty() || !subject.dtype.empty()) {
      const char* slash = subject.variant.empty() || subject.dtype.empty() ? "" : "/";
      const std::string ranks = subject.ranks > 1 ? " x" + std::to_string(subject.ranks) : "";
      name += " [" + subject.variant + slash + subject.dtype + ranks + "]";
    }
    Verdict verdict = rule ? rule->verdict : Verdict::pass;
    Reason reason = rule ? rule->reason : Reason::none;
    std::string text = rule ? rule->text : "";
    std::string body;
    // As in end_for: failures count unless the rule line admits or waives them.
    const bool settled = fails_run(verdict) || verdict == Verdict::waived || verdict == Verdict::no_decision;
    for (const FailureRecord* f : failures) {
      const bool fails = fails_run(verdict_of(f->reason));
      if (!settled && !fails_run(verdict)) verdict = fails ? Verdict::fail : Verdict::no_decision;
      if (f == failures.front()) {
        reason = f->reason;
        if (text.empty()) text = first_line(f->text);
      }
      body += body_of(*f);
    }
    if (passes_run(verdict) && rule && rule->judged == 0) {
      verdict = Verdict::vacuous;
      reason = Reason::no_case;
    }
    if (fails_run(verdict) || undecides_run(verdict))
      body += "attribution: " + std::string(name_of(attribution_of(verdict, reason))) + "\n";
    std::string message(name_of(verdict));
    if (reason != Reason::none) message += " (" + std::string(name_of(reason)) + ")";
    if (!text.empty()) message += ": " + text;
    add_case(suite, subject.slot.empty() ? "library" : subject.slot, name,
             content_of(suite.counts, verdict, name_of(reason), message, body, rule));
  }

  void add_run(const EndRecord& end) {
    suites_.push_back({"run", "", {1, 0, 1, 0}, {}});
    add_case(suites_.back(), "assay", "run", outcome("error", "run", end.verdict + ": " + end.why, ""));
  }

  [[nodiscard]] Counts counts() const {
    Counts all;
    for (const Suite& suite : suites_) all.add(suite.counts);
    return all;
  }

  [[nodiscard]] std::string text(const RunResults& results) const {
    std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites" + attribute("name", "assay") +
                      counts().attributes() + attribute_seconds("time", results.has_end ? results.end.seconds : 0) +
                      ">\n";
    for (const Suite& suite : suites_) {
      out += "  <testsuite" + attribute("name", suite.slot + (suite.device.empty() ? "" : " " + suite.device)) +
             suite.counts.attributes();
      for (const SlotTime& time : results.times) {
        if (time.slot == suite.slot && time.device == suite.device) {
          out += attribute_seconds("time", time.milliseconds / 1000);
        }
      }
      if (!results.run.started.empty()) out += attribute("timestamp", results.run.started);
      out += ">\n" + properties_of(results.run) + suite.cases + "  </testsuite>\n";
    }
    return out + "</testsuites>\n";
  }

 private:
  Suite& suite_of(const Subject& subject) {
    const std::string slot = subject.slot.empty() ? "library" : subject.slot;
    const auto same = [&](const Suite& s) { return s.slot == slot && s.device == subject.device; };
    const auto at = std::ranges::find_if(suites_, same);
    if (at != suites_.end()) return *at;
    suites_.push_back({slot, subject.device, {}, {}});
    return suites_.back();
  }

  static void add_case(Suite& suite, const std::string& classname, const std::string& name,
                       const std::string& content) {
    suite.cases += "    <testcase" + attribute("classname", classname) + attribute("name", name);
    suite.cases += content.empty() ? "/>\n" : ">\n" + content + "    </testcase>\n";
  }

  std::string content_of(Counts& counts, Verdict verdict, std::string_view type, const std::string& message,
                         const std::string& body, const RuleRecord* rule) const {
    std::string content;
    std::string notes = body;
    if (fails_run(verdict) || (gate_ && verdict == Verdict::unexpected_pass)) {
      ++counts.failures;
      content = outcome("failure", type, message, body);
      notes.clear();
    } else if (undecides_run(verdict) || (gate_ && verdict == Verdict::numerical_pass)) {
      ++counts.errors;
      content = outcome("error", type, message, body);
      notes.clear();
    } else if (verdict == Verdict::not_applicable || verdict == Verdict::waived) {
      ++counts.skipped;
      content = outcome("skipped", "", message, "");
    } else if (verdict != Verdict::pass) {
      notes = message + "\n" + notes;
    }
    if (rule) {
      for (const std::string& warning : rule->warnings) notes += "warning: " + warning + "\n";
    }
    if (!notes.empty()) content += "      <system-out>" + escaped(notes, Place::content) + "</system-out>\n";
    return content;
  }

  static std::string properties_of(const RunRecord& run) {
    const auto property = [](const char* name, const std::string& value) {
      return "      <property" + attribute("name", name) + attribute("value", value) + "/>\n";
    };
    std::string out = "    <properties>\n" + property("library", run.library) +
                      property("library_sha256", run.library_sha256) + property("assay_version", run.assay_version) +
                      property("tier", run.tier) + property("isolation", run.isolation) +
                      property("seed", std::to_string(run.seed)) + property("command", run.command);
    for (const std::string& device : run.devices) out += property("device", device);
    return out + "    </properties>\n";
  }

  bool gate_;
  std::vector<Suite> suites_;
};

}  // namespace

std::string junit_xml(const RunResults& results) {
  Document document(is_gate(results.run));
  const auto failures_of = [&](const Subject& subject) {
    std::vector<const FailureRecord*> found;
    for (const FailureRecord& failure : results.failures) {
      if (failure.subject == subject) found.push_back(&failure);
    }
    return found;
  };
  for (const RuleRecord& rule : results.rules) document.add(rule.subject, &rule, failures_of(rule.subject));
  // A run that was killed has failures without their rule lines.
  std::vector<Subject> told;
  for (const RuleRecord& rule : results.rules) told.push_back(rule.subject);
  for (const FailureRecord& failure : results.failures) {
    if (std::ranges::find(told, failure.subject) != told.end()) continue;
    told.push_back(failure.subject);
    document.add(failure.subject, nullptr, failures_of(failure.subject));
  }
  const EndRecord end = conclude(results);
  const Counts counts = document.counts();
  const bool unexplained = end.verdict != "PASS" && counts.failures + counts.errors == 0;
  if (!results.has_end || unexplained) document.add_run(end);
  return document.text(results);
}

}  // namespace assay
