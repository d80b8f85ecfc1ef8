// What a capability text may do to its reader: a written list and 100,000 random ones that are malformed, contradictory
// or oversized. Each is refused with the id of its rule and a sentence that names the field, in bounded time and
// memory.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>

#include "harness/capability/domain.hpp"
#include "harness/case/json.hpp"
#include "harness/tensor/philox.hpp"

namespace assay {
namespace {

using nlohmann::json;

const SlotSupply& supply() { return *supply_of("attention.decode"); }

class Draw {
 public:
  explicit Draw(std::uint64_t key) : key_(key) {}
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(mix64(key_ += 0x9E3779B97F4A7C15ULL) % static_cast<std::uint64_t>(n));
  }
  template <std::size_t N>
  std::string one_of(const char* const (&list)[N]) {
    return list[below(N)];
  }

 private:
  std::uint64_t key_;
};

constexpr const char* kCounts[] = {"num_tokens", "batch_size",  "kv_len",         "top_k", "block_size", "page_size",
                                   "head_dim",   "Num-Q-Heads", " num_kv_heads ", "tp",    "world"};
constexpr const char* kWords[] = {"dtype", "dtype_name", "arch", "graph_mode", "layout", "phase", "quant", "model"};
constexpr const char* kClosed[] = {"dtype", "graph_mode", "layout", "phase", "quant"};

// A declaration without fault, of fields that the faulty one does not use.
json sound(Draw& draw) {
  json object = json::object();
  if (draw.below(2)) object["last_dim"] = {{"min", draw.below(64)}};
  if (draw.below(2)) object["q_len"] = 1;
  return object;
}

struct Malformed {
  std::string text;
  std::string id, field;  // the rule that must refuse it, and the field as written; "": of the whole text
  GraphSafe graph_safe = GraphSafe::yes;
};

Malformed with(Draw& draw, const std::string& field, const json& spec, const char* id) {
  json object = sound(draw);
  object[field] = spec;
  return {object.dump(), id, field};
}

std::string random_name(Draw& draw) {
  std::string name = "x";
  for (std::int64_t i = draw.below(40); i >= 0; --i) name += static_cast<char>('a' + draw.below(26));
  return name;
}

// One way each of going wrong.
const std::vector<std::function<Malformed(Draw&)>>& ways() {
  static const std::vector<std::function<Malformed(Draw&)>> all = {
      [](Draw& d) { return with(d, random_name(d), 1, "PE-2"); },
      [](Draw& d) { return with(d, "num_token" + std::string(static_cast<std::size_t>(d.below(4)), 'z'), 1, "PE-2"); },
      [](Draw& d) { return with(d, "scalar.sm_scale", f64_hex(1.0), "PE-2"); },
      [](Draw& d) {
        const std::string pairs[][2] = {{"tp", "tp_size"},
                                        {"world", "worldsize"},
                                        {"arch", "architecture"},
                                        {"dtype", "dtype_name"},
                                        {"kv_len", "KV-LEN"}};
        const auto& pair = pairs[d.below(5)];
        const bool word = pair[0] == "arch" || pair[0] == "dtype";
        const json value = word ? json(pair[0] == "arch" ? "sm_90" : "bf16") : json(4);
        json object = sound(d);
        object[pair[0]] = value;
        object[pair[1]] = value;
        return Malformed{object.dump(), "PE-3", std::max(pair[0], pair[1])};
      },
      [](Draw& d) {
        return with(d, d.one_of(kCounts), {{"minimum", d.below(9)}}, "PE-4");
      },
      [](Draw& d) {
        return with(d, d.one_of(kCounts), {{"exact", d.below(9)}, {random_name(d), 1}}, "PE-4");
      },
      [](Draw& d) {
        return with(d, d.one_of(kCounts), {{"exact", 1}, {"max", d.below(9)}}, "PE-5");
      },
      [](Draw& d) {
        return with(d, d.one_of(kCounts), {{"exact", 1}, {"one_of", {1, 2}}}, "PE-5");
      },
      [](Draw& d) {
        return with(d, d.one_of(kCounts), {{"min", 1}, {"one_of", {1, 2}}}, "PE-5");
      },
      [](Draw& d) { return with(d, d.one_of(kCounts), d.below(2) ? json::array() : json::object(), "PE-6"); },
      [](Draw& d) {
        return with(d, d.one_of(kWords), {{"one_of", json::array()}}, "PE-6");
      },
      [](Draw& d) {
        return with(d, d.one_of(kWords), {{"min", d.below(90)}}, "PE-7");
      },
      [](Draw& d) {
        const std::int64_t hi = d.below(1000);
        return with(d, d.one_of(kCounts), {{"min", hi + 1 + d.below(1000)}, {"max", hi}}, "PE-8");
      },
      [](Draw& d) { return with(d, d.one_of(kCounts), -1 - d.below(1000), "PE-9"); },
      [](Draw& d) {
        return with(d, d.one_of(kCounts), {{"max", d.below(2) ? json("64") : json(true)}}, "PE-9");
      },
      [](Draw& d) {
        return with(d, d.one_of(kCounts), json::array({1, nullptr}), "PE-9");
      },
      [](Draw& d) { return with(d, d.one_of(kCounts), json::array({json::array({1})}), "PE-9"); },
      [](Draw& d) {
        return with(d, d.one_of(kCounts), 9223372036854775808u + static_cast<std::uint64_t>(d.below(99)), "PE-9");
      },
      [](Draw& d) { return with(d, d.one_of(kWords), d.below(2) ? json("  \t") : json(7), "PE-9"); },
      [](Draw& d) {
        return with(d, d.one_of(kWords), {{"exact", nullptr}}, "PE-9");
      },
      [](Draw& d) { return with(d, d.one_of(kClosed), random_name(d), "PE-10"); },
      [](Draw& d) {
        return with(d, d.one_of(kClosed), json::array({random_name(d), "x"}), "PE-10");
      },
      [](Draw& d) {
        Malformed m =
            with(d, "graph_mode", d.below(2) ? json("cuda_graph") : json::array({"capture", "replay"}), "PE-14");
        m.graph_safe = GraphSafe::no;
        return m;
      },
      [](Draw& d) { return with(d, d.below(2) ? "exp_tokens" : "alignment", 16, "PE-15"); },
      [](Draw& d) { return with(d, "runtime", "sglang-" + random_name(d), "PE-15"); },
      [](Draw& d) { return with(d, "num_experts", d.below(2) ? json::array({"1"}) : json("1"), "PE-9"); },
      [](Draw& d) {
        json list = json::array();
        for (std::int64_t i = 0, n = 65 + d.below(400); i < n; ++i) list.push_back(i);
        return with(d, d.one_of(kCounts), d.below(2) ? list : json{{"one_of", list}}, "PE-16");
      },
      // Texts that no field is to blame for: the sentence says where in the text.
      [](Draw& d) { return with(d, d.one_of(kCounts), 0.5 + static_cast<double>(d.below(64)), "PE-11"); },
      [](Draw& d) {
        Malformed m = with(d, d.one_of(kCounts), 1, "PE-11");
        m.text.insert(1, "\"kv_len\":1,\"kv_len\":2,");
        m.field.clear();
        return m;
      },
      [](Draw& d) {
        const json not_objects[] = {json::array(), json(""),   json(0),
                                    json(false),   json("{}"), json::array({json::object()})};
        return Malformed{not_objects[d.below(6)].dump(), "PE-1", ""};
      },
      [](Draw& d) {  // cut short
        Malformed m = with(d, d.one_of(kCounts), {{"min", 1}}, "PE-1");
        m.text.resize(1 + static_cast<std::size_t>(d.below(static_cast<std::int64_t>(m.text.size()) - 1)));
        m.field.clear();
        return m;
      },
      [](Draw& d) {  // nested too deeply
        const auto depth = static_cast<std::size_t>(40 + d.below(2000));
        return Malformed{"{\"kv_len\":" + std::string(depth, '[') + std::string(depth, ']') + "}", "PE-1", ""};
      },
      [](Draw& d) {  // over the limit of bytes
        return Malformed{"{\"model\":\"" + std::string(static_cast<std::size_t>(65536 + d.below(1000)), 'm') + "\"}",
                         "PE-1", ""};
      },
      [](Draw& d) {  // bytes that are no text
        std::string bytes(static_cast<std::size_t>(1 + d.below(64)), '\0');
        for (char& c : bytes) c = static_cast<char>(128 + d.below(128));
        return Malformed{bytes, "PE-1", ""};
      },
      [](Draw& d) {
        return Malformed{"{\"kv_len\":" + std::string(static_cast<std::size_t>(30 + d.below(250)), '9') + "}", "PE-9",
                         ""};
      },
  };
  return all;
}

// Empty: refused as it should be.
std::string complaint(const Malformed& m) {
  try {
    const Domain d = parse_domain(m.text, {supply()}, m.graph_safe);
    return "accepted as " + d.encode();
  } catch (const PredicateError& error) {
    const std::string sentence = error.what();
    if (error.id() != m.id) return "refused by " + error.id() + ", not " + m.id + ": " + sentence;
    if (sentence.rfind(error.id() + ": ", 0) != 0 || sentence.size() > 400) return "a bad sentence: " + sentence;
    if (!m.field.empty() && m.id != "PE-11" && error.field() != m.field &&
        fold_field(error.field()) != fold_field(m.field))
      return "blames " + error.field() + ", not " + m.field;
    const std::string named = error.field().empty() ? "capabilities" : shown(error.field());
    if (sentence.find(named) == std::string::npos) return "does not name " + named + ": " + sentence;
    return {};
  }
}

long peak_kilobytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

TEST(MalformedCapabilities, EveryWayOfGoingWrongIsRefusedByItsRule) {
  for (std::size_t way = 0; way < ways().size(); ++way) {
    for (std::uint64_t i = 0; i < 200; ++i) {
      Draw draw(mix64(1000 * way + i));
      const Malformed m = ways()[way](draw);
      ASSERT_EQ(complaint(m), "") << "way " << way << ": " << m.text.substr(0, 400);
    }
  }
}

TEST(MalformedCapabilities, HundredThousandAreRefusedInBoundedTimeAndMemory) {
  const auto start = std::chrono::steady_clock::now();
  [[maybe_unused]] const long before = peak_kilobytes();
  Draw draw(7);
  double slowest_ms = 0;
  for (int i = 0; i < 100000; ++i) {
    const Malformed m = ways()[static_cast<std::size_t>(draw.below(static_cast<std::int64_t>(ways().size())))](draw);
    const auto each = std::chrono::steady_clock::now();
    ASSERT_EQ(complaint(m), "") << m.text.substr(0, 400);
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - each;
    slowest_ms = std::max(slowest_ms, took.count());
  }
  EXPECT_LT(slowest_ms, 1000);  // of a text of 64 KiB, on a machine that others use
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60));
#ifndef ASSAY_NO_REFUSALS  // a sanitizer keeps what was freed
  EXPECT_LT(peak_kilobytes() - before, 64 * 1024);
#endif
}

// Bytes changed at random: most are refused, none does anything else than that or be read.
TEST(MalformedCapabilities, AnyBytesAreReadOrRefused) {
  Draw draw(8);
  const std::string model =
      R"({"dtype": ["bf16", "fp16"], "kv_len": {"min": 1, "max": 4096}, "head_dim": [64, 128], "model": "MiniMax-M3"})";
  int refused = 0, read = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string text = model;
    for (std::int64_t n = draw.below(4); n >= 0; --n) {
      const auto at = static_cast<std::size_t>(draw.below(static_cast<std::int64_t>(text.size())));
      const int what = static_cast<int>(draw.below(4));
      if (what == 0)
        text.erase(at, 1 + static_cast<std::size_t>(draw.below(3)));
      else if (what == 1)
        text.insert(at, 1, static_cast<char>(draw.below(256)));
      else if (what == 2)
        text[at] = static_cast<char>(draw.below(256));
      else
        text.insert(at, text.substr(static_cast<std::size_t>(draw.below(static_cast<std::int64_t>(text.size()))), 12));
      if (text.empty()) text = "{";
    }
    try {
      const Domain d = parse_domain(text, {supply()}, GraphSafe::yes);
      ASSERT_EQ(parse_domain(d.encode(), {supply()}, GraphSafe::yes), d) << text;
      ++read;
    } catch (const PredicateError& error) {
      ASSERT_EQ(error.id().rfind("PE-", 0), 0u);
      ASSERT_TRUE(is_utf8(error.what()));
      ++refused;
    }
  }
  EXPECT_GT(refused, 10000);
  EXPECT_GT(read, 100);
}

struct Written {
  const char *text, *id, *field;
};

TEST(MalformedCapabilities, TheWrittenListIsRefused) {
  const Written list[] = {{"", "PE-1", ""},
                          {" ", "PE-1", ""},
                          {"{", "PE-1", ""},
                          {"{}{}", "PE-1", ""},
                          {"[]", "PE-1", ""},
                          {"\xEF\xBB\xBF{}", "PE-1", ""},
                          {"{'kv_len': 1}", "PE-1", ""},
                          {"{\"kv_len\": 1,}", "PE-1", ""},
                          {"{\"kv_len\": NaN}", "PE-11", ""},
                          {"{\"kv_len\": 1e400}", "PE-11", ""},
                          {"{\"kv_len\": 1.0}", "PE-11", ""},
                          {"{\"kv_len\": 1e2}", "PE-11", ""},
                          {"{\"kv_len\": {\"min\": 1.5}}", "PE-11", ""},
                          {"{\"kv_len\": 1, \"kv_len\": 1}", "PE-11", ""},
                          {"{\"kv_len\": {\"min\": 1, \"min\": 2}}", "PE-11", ""},
                          {"{\"\": 1}", "PE-2", ""},
                          {"{\"kv len\": 1}", "PE-2", "kv len"},
                          {"{\"rank\": 0}", "PE-2", "rank"},
                          {"{\"architecture\": {\"min\": \"sm_90\"}}", "PE-7", "architecture"},
                          {"{\"architecture\": {\"min\": 90}}", "PE-7", "architecture"},
                          {"{\"architecture\": 90}", "PE-9", "architecture"},
                          {"{\"kv_len\": \"at most 64\"}", "PE-9", "kv_len"},
                          {"{\"kv_len\": {\"not\": 64}}", "PE-4", "kv_len"},
                          {"{\"kv_len\": {\"max\": 64, \"Min\": 1}}", "PE-4", "kv_len"},
                          {"{\"kv_len\": {\"exact\": {\"min\": 1}}}", "PE-9", "kv_len"},
                          {"{\"kv_len\": {\"one_of\": 64}}", "PE-9", "kv_len"},
                          {"{\"kv_len\": {\"one_of\": {\"min\": 1}}}", "PE-9", "kv_len"},
                          {"{\"phase\": \"\"}", "PE-9", "phase"},
                          {"{\"phase\": \"idle\"}", "PE-10", "phase"},
                          {"{\"dtype\": [\"bf16\", \"int4\"]}", "PE-10", "dtype"},
                          {"{\"exp_tokens\": 1}", "PE-15", "exp_tokens"},
                          {"{\"kv_len\": 18446744073709551615}", "PE-9", "kv_len"},
                          {"{\"kv_len\": 18446744073709551616}", "PE-9", ""},
                          {"{\"kv_len\": -0}", "accepted", ""}};
  for (const Written& w : list) {
    SCOPED_TRACE(w.text);
    try {
      const Domain d = parse_domain(w.text, {supply()}, GraphSafe::yes);
      EXPECT_STREQ(w.id, "accepted") << d.encode();
    } catch (const PredicateError& error) {
      EXPECT_EQ(error.id(), w.id) << error.what();
      EXPECT_EQ(error.field(), w.field) << error.what();
    }
  }
}

}  // namespace
}  // namespace assay
