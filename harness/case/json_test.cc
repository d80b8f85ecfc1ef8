#include "harness/case/json.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "harness/case/rapid_test.hpp"

namespace assay {
namespace {

using nlohmann::json;

JsonFault fault_of(const std::string& text) {
  try {
    (void)parse_strict(text, "text");
  } catch (const JsonError& error) {
    return error.fault();
  }
  ADD_FAILURE() << "accepted: " << shown(text);
  return JsonFault::type;
}

std::string sentence_of(const std::string& text) {
  try {
    (void)parse_strict(text, "trial.json");
  } catch (const JsonError& error) {
    return error.what();
  }
  return "accepted";
}

std::string nested(std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); }

TEST(StrictJson, ADuplicateKeyIsRefusedAtEveryDepthAndInEscapedSpelling) {
  EXPECT_EQ(fault_of(R"({"a":1,"a":1})"), JsonFault::duplicate_key);
  EXPECT_EQ(fault_of(R"([{"x":{"a":1,"b":2,"a":3}}])"), JsonFault::duplicate_key);
  EXPECT_EQ(fault_of(R"({"a":1,"\u0061":1})"), JsonFault::duplicate_key);
  EXPECT_EQ(sentence_of(R"([{"x":{"a":1,"b":2,"a":3}}])"), "trial.json, at /0/x: key \"a\" appears twice");
}

TEST(StrictJson, ANumberThatNlohmannWouldBendIsRefused) {
  EXPECT_EQ(fault_of("18446744073709551616"), JsonFault::integer_range);
  EXPECT_EQ(fault_of("-9223372036854775809"), JsonFault::integer_range);
  EXPECT_EQ(sentence_of(R"({"a":[0,99999999999999999999]})"),
            "trial.json, at /a/1: integer \"99999999999999999999\" does not fit in 64 bits");
  EXPECT_EQ(parse_strict("18446744073709551615", "t").get<std::uint64_t>(), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(parse_strict("-9223372036854775808", "t").get<std::int64_t>(), std::numeric_limits<std::int64_t>::min());
  for (const char* text : {"NaN", "[nan]", "Infinity", "-Infinity", "[-inf]", "1e999", "-1e999"}) {
    EXPECT_EQ(fault_of(text), JsonFault::not_finite) << text;
  }
}

TEST(StrictJson, DepthAndSizeAreBounded) {
  EXPECT_NO_THROW((void)parse_strict(nested(32), "t"));
  EXPECT_EQ(fault_of(nested(33)), JsonFault::depth);
  EXPECT_EQ(fault_of(std::string(500000, '[')), JsonFault::depth);
  EXPECT_EQ(fault_of(std::string(json_size_limit + 1, ' ')), JsonFault::size);
  EXPECT_THROW((void)parse_strict("[1]", "t", 2), JsonError);
  EXPECT_NO_THROW((void)parse_strict("[1]", "t", 3));
}

TEST(StrictJson, TextThatAnotherReaderWouldReadDifferentlyIsRefused) {
  using namespace std::string_literals;
  EXPECT_EQ(fault_of("1\0,2"s), JsonFault::syntax);          // nlohmann stops at the NUL
  EXPECT_EQ(fault_of("\xEF\xBB\xBF{}"), JsonFault::syntax);  // and skips the mark
  EXPECT_EQ(fault_of("[1] x"), JsonFault::syntax);
  EXPECT_EQ(fault_of("[1,]"), JsonFault::syntax);
  EXPECT_EQ(fault_of("/* c */ 1"), JsonFault::syntax);
  EXPECT_EQ(fault_of(""), JsonFault::syntax);
  EXPECT_EQ(fault_of("01"), JsonFault::syntax);
  EXPECT_EQ(fault_of("+1"), JsonFault::syntax);
  EXPECT_EQ(fault_of("'a'"), JsonFault::syntax);
  EXPECT_EQ(fault_of("\"\xC0\xAF\""), JsonFault::syntax);      // overlong
  EXPECT_EQ(fault_of("\"\xED\xA0\x80\""), JsonFault::syntax);  // surrogate
  EXPECT_EQ(fault_of("\"\\ud800\""), JsonFault::syntax);
}

TEST(StrictJson, ASyntaxErrorNamesItsLineAndColumn) {
  EXPECT_EQ(sentence_of("{\n  \"a\": 1,\n  \"b\": x\n}").find("trial.json, line 3, column 8: syntax error"), 0u)
      << sentence_of("{\n  \"a\": 1,\n  \"b\": x\n}");
  EXPECT_EQ(sentence_of("x").find("trial.json, line 1, column 1: "), 0u) << sentence_of("x");
}

TEST(StrictJson, AnErrorIsOnePrintableBoundedLine) {
  const std::string hostile = "{\"" + std::string(5000, 'k') + "\\u001b[31m\\n\": [}";
  const std::string sentence = sentence_of(hostile);
  EXPECT_LT(sentence.size(), 400u);
  for (const char c : sentence) EXPECT_TRUE(c >= ' ' && c <= '~');
  EXPECT_EQ(shown("a\x1b\n\xC3\xA9"), "\"a????\"");
}

TEST(CanonicalJson, KeysAreSortedByBytesAndNothingIsSpaced) {
  const json value = parse_strict(
      "{\"b\": [1, true, null], \"a\": \"\xC3\xA9\\n\\\"/\x7F\\u0001\", \"A\": -7, \"\xC3\xA9\": {}}", "t");
  EXPECT_EQ(canonical(value), "{\"A\":-7,\"a\":\"\xC3\xA9\\n\\\"/\x7F\\u0001\",\"b\":[1,true,null],\"\xC3\xA9\":{}}");
}

TEST(CanonicalJson, ADoubleIsShortestAndStaysADouble) {
  EXPECT_EQ(canonical(json(0.1)), "0.1");
  EXPECT_EQ(canonical(json(1.0)), "1.0");
  EXPECT_EQ(canonical(json(-0.0)), "-0.0");
  EXPECT_EQ(canonical(json(1e-6)), "1e-06");
  EXPECT_EQ(canonical(json(1e20)), "1e+20");
  EXPECT_EQ(canonical(json(123456789.0)), "123456789.0");
  EXPECT_EQ(canonical(json(5e-324)), "5e-324");
  EXPECT_EQ(canonical(json(1)), canonical(json(1u)));
}

TEST(CanonicalJson, AValueWithoutATextIsRefused) {
  EXPECT_THROW((void)canonical(json(std::nan(""))), JsonError);
  EXPECT_THROW((void)canonical(json(std::numeric_limits<double>::infinity())), JsonError);
  EXPECT_THROW((void)canonical(json("\xFF")), JsonError);
  EXPECT_THROW((void)canonical(json({{"\xFF", 1}})), JsonError);
  EXPECT_THROW((void)canonical(json::binary({1, 2})), JsonError);
  json deep = 1;
  for (int i = 0; i < 33; ++i) deep = json::array({deep});
  EXPECT_THROW((void)canonical(deep), JsonError);
}

rc::Gen<json> gen_json(int depth) {
  const auto leaf =
      rc::gen::oneOf(rc::gen::map(rc::gen::arbitrary<std::int64_t>(), [](std::int64_t v) { return json(v); }),
                     rc::gen::map(rc::gen::arbitrary<std::uint64_t>(), [](std::uint64_t v) { return json(v); }),
                     rc::gen::map(rc::gen::arbitrary<std::uint64_t>(),
                                  [](std::uint64_t bits) {
                                    const auto d = std::bit_cast<double>(bits);
                                    return std::isfinite(d) ? json(d) : json(0.5);
                                  }),
                     rc::gen::map(rc::gen::arbitrary<bool>(), [](bool v) { return json(v); }), rc::gen::just(json()),
                     rc::gen::map(rc::gen::string<std::string>(),
                                  [](const std::string& s) { return is_utf8(s) ? json(s) : json("x"); }));
  if (depth == 0) return leaf;
  return rc::gen::oneOf(leaf,
                        rc::gen::map(rc::gen::container<std::vector<json>>(gen_json(depth - 1)),
                                     [](const std::vector<json>& v) { return json(v); }),
                        rc::gen::map(rc::gen::container<std::map<std::string, json>>(rc::gen::arbitrary<std::string>(),
                                                                                     gen_json(depth - 1)),
                                     [](const std::map<std::string, json>& entries) {
                                       json object = json::object();
                                       for (const auto& [key, value] : entries)
                                         object[is_utf8(key) ? key : "k"] = value;
                                       return object;
                                     }));
}

TEST(CanonicalJson, ReadsBackToTheSameValueAndTheSameText) {
  holds("round trip", 400, [] {
    const json value = *rc::gen::resize(12, gen_json(3));
    const std::string text = canonical(value);
    const json back = parse_strict(text, "text");
    RC_ASSERT(back == value);
    RC_ASSERT(canonical(back) == text);
  });
}

TEST(StrictJson, ArbitraryBytesAreReadOrRefused) {
  holds("garbage", 2000, [] {
    const auto pieces = *rc::gen::container<std::vector<std::string>>(rc::gen::element<std::string>(
        "{", "}", "[", "]", ",", ":", "\"", "\"a\"", "\"b\"", "1", "-", "0.5", "e9", "true", "null", "NaN", "\\", " ",
        "\n", "\xC3", "\xA9", "99999999999999999999", "/"));
    std::string text;
    for (const std::string& piece : pieces) text += piece;
    try {
      const json value = parse_strict(text, "garbage");
      RC_ASSERT(json::accept(text));
      RC_ASSERT(value == json::parse(text));
    } catch (const JsonError& error) {
      const std::string sentence = error.what();
      RC_ASSERT(sentence.size() < 400u);
    }
  });
}

TEST(StrictJson, Utf8AgreesWithNlohmannAtEveryEdgeOfTheEncoding) {
  const std::string edges = "\x41\x7F\x80\x8F\x90\x9F\xA0\xBF\xC1\xC2\xDF\xE0\xE1\xED\xEF\xF0\xF1\xF4\xF5";
  const auto agrees = [](const std::string& bytes) {
    bool theirs = true;
    try {
      (void)json(bytes).dump();
    } catch (const json::exception&) {
      theirs = false;
    }
    EXPECT_EQ(is_utf8(bytes), theirs) << shown(json(bytes).dump(-1, ' ', true, json::error_handler_t::replace));
  };
  for (const char first : edges) {
    agrees({first});
    for (const char second : edges) {
      agrees({first, second});
      for (const char third : edges) {
        agrees({first, second, third});
        if (first == '\xF0' || first == '\xF1' || first == '\xF4') {
          for (const char fourth : edges) agrees({first, second, third, fourth});
        }
      }
    }
  }
}

}  // namespace
}  // namespace assay
