// Calls through libffi: every signature letter arrives with its value, in registers and on the stack.
#include "harness/worker/call.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <type_traits>

#include "assay/slot.hpp"
#include "harness/case/rapid_test.hpp"

namespace assay {
namespace {

struct Recorded {
  const assay_call* call = nullptr;
  assay_in in = nullptr;
  assay_out out = nullptr;
  const void* prepared = nullptr;
  double real = 0;
  std::int32_t word = 0;
  std::int64_t integer = 0;
} recorded;

extern "C" assay_status record(const assay_call* call, assay_in in, assay_out out, const void* prepared, double real,
                               std::int32_t word, std::int64_t integer) {
  recorded = {call, in, out, prepared, real, word, integer};
  return word;
}

CallArgument pointer(char kind, const void* value) {
  CallArgument a;
  a.kind = kind;
  a.pointer = const_cast<void*>(value);
  return a;
}
CallArgument real(double value) {
  CallArgument a;
  a.kind = 'd';
  a.real = value;
  return a;
}
CallArgument word(std::int32_t value) {
  CallArgument a;
  a.kind = 'w';
  a.word = value;
  return a;
}
CallArgument integer(std::int64_t value) {
  CallArgument a;
  a.kind = 'l';
  a.integer = value;
  return a;
}

using Any = void (*)(void);

TEST(CallEntry, EveryLetterArrivesWithItsValueAndTheStatusComesBack) {
  holds("letters", 300, [] {
    const auto bits = *rc::gen::arbitrary<std::uint64_t>();
    const auto w = *rc::gen::oneOf(rc::gen::arbitrary<std::int32_t>(),
                                   rc::gen::element(std::numeric_limits<std::int32_t>::min(), -1, 0));
    const auto l = *rc::gen::oneOf(rc::gen::arbitrary<std::int64_t>(),
                                   rc::gen::element(std::numeric_limits<std::int64_t>::min(), std::int64_t{1} << 40));
    const auto d = std::bit_cast<double>(bits);  // NaN payloads and -0 included
    const assay_call call{};
    DLTensor in{}, out{};
    const int prepared = 0;
    const assay_status status =
        call_entry(reinterpret_cast<Any>(&record), &call,
                   {pointer('i', &in), pointer('o', &out), pointer('p', &prepared), real(d), word(w), integer(l)});
    const bool pointers = recorded.call == &call && recorded.in == &in && recorded.out == &out &&
                          recorded.prepared == &prepared;  // RapidCheck would dereference them to show them
    RC_ASSERT(pointers);
    RC_ASSERT(status == w);
    RC_ASSERT(std::bit_cast<std::uint64_t>(recorded.real) == bits);
    RC_ASSERT(recorded.word == w);
    RC_ASSERT(recorded.integer == l);
  });
}

// The longest entry of abi.h: arguments that spill from registers to the stack, between doubles and pointers.
assay_in long_in[9];
std::int64_t long_integers[9];
double long_scale;
assay_out long_out;

extern "C" assay_status record_long(const assay_call*, assay_in q, assay_in cache, assay_in req, assay_in slots,
                                    assay_in cu, assay_in lens, assay_in prefix, std::int64_t a, std::int64_t b,
                                    std::int64_t c, std::int64_t d, std::int64_t e, std::int64_t f, std::int64_t g,
                                    double scale, assay_in blocks, std::int64_t h, std::int64_t i, assay_out out) {
  const assay_in tensors[] = {q, cache, req, slots, cu, lens, prefix, blocks};
  std::copy(std::begin(tensors), std::end(tensors), long_in);
  const std::int64_t integers[] = {a, b, c, d, e, f, g, h, i};
  std::copy(std::begin(integers), std::end(integers), long_integers);
  long_scale = scale;
  long_out = out;
  return ASSAY_OK;
}
static_assert(std::is_same_v<decltype(&record_long), decltype(assay_entry::msa_prefill_block_score)>);

TEST(CallEntry, TheLongestEntryKeepsTheOrderOfItsNineteenArguments) {
  const std::string_view signature = "iiiiiiillllllldillo";
  DLTensor tensors[9] = {};
  std::vector<CallArgument> arguments;
  std::int64_t next = 100;
  int tensor = 0;
  for (const char kind : signature) {
    if (kind == 'i' || kind == 'o') arguments.push_back(pointer(kind, &tensors[tensor++]));
    if (kind == 'l') arguments.push_back(integer(next++));
    if (kind == 'd') arguments.push_back(real(0.125));
  }
  const assay_call call{};
  EXPECT_EQ(call_entry(reinterpret_cast<Any>(&record_long), &call, arguments), ASSAY_OK);
  for (int i = 0; i < 8; ++i) EXPECT_EQ(long_in[i], &tensors[i]) << i;
  for (int i = 0; i < 9; ++i) EXPECT_EQ(long_integers[i], 100 + i) << i;
  EXPECT_EQ(long_scale, 0.125);
  EXPECT_EQ(long_out, &tensors[8]);
}

extern "C" assay_status throws(const assay_call*) { throw std::runtime_error("out of a C entry"); }

TEST(CallEntryDeathTest, AnExceptionEndsTheProcessInsideTheEntry) {
  // Caught further out it would look like an error of the harness's own: a candidate could throw its way out of a FAIL.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const assay_call call{};
  EXPECT_EXIT(
      {
        try {
          (void)call_entry(reinterpret_cast<Any>(&throws), &call, {});
        } catch (const std::exception&) {
        }
        _exit(0);
      },
      ::testing::KilledBySignal(SIGABRT), "");
}

TEST(Signature, EveryLetterIsValidAndNothingElseIs) {
  for (int c = 0; c < 256; ++c) {
    const char letter = static_cast<char>(c);
    EXPECT_EQ(valid_signature(std::string(1, letter)),
              c != 0 && std::string_view("iopdwl").find(letter) != std::string_view::npos)
        << c;
  }
  EXPECT_FALSE(valid_signature(""));
  EXPECT_TRUE(valid_signature(std::string(24, 'l')));
  EXPECT_FALSE(valid_signature(std::string(25, 'l')));
  EXPECT_FALSE(valid_signature("io d"));
}

TEST(Signature, TheLettersOfATypeAreThoseThatTheWorkerKnows) {
  constexpr char letters[] = {detail::letter<assay_in>(),     detail::letter<assay_out>(),
                              detail::letter<const void*>(),  detail::letter<double>(),
                              detail::letter<std::int32_t>(), detail::letter<std::int64_t>()};
  EXPECT_EQ(std::string(letters, sizeof letters), "iopdwl");
  EXPECT_TRUE(valid_signature(std::string(letters, sizeof letters)));
  static_assert(detail::letter<float>() == 0);
}

}  // namespace
}  // namespace assay
