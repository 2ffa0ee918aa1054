#include "element/half.h"

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "element/numeric.h"
#include "gtest/gtest.h"

namespace headrace {
namespace {

bool IsNan(Half x) { return (x.bits & 0x7fff) > 0x7c00; }
bool IsNan(BFloat16 x) { return (x.bits & 0x7fff) > 0x7f80; }

// The value of finite bits by definition, not by tricks.
double Value(Half x) {
  const int exponent = x.bits >> 10 & 31;
  const double fraction = x.bits & 0x3ff;
  const double magnitude =
      exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  return (x.bits & 0x8000) != 0 ? -magnitude : magnitude;
}
double Value(BFloat16 x) { return ToFloat(x); }

// The nearest of all values, ties to the even one, by search. `largest` is the bits of the largest
// finite value.
template <typename T>
T Nearest(double x, uint16_t largest) {
  const auto sign = static_cast<uint16_t>(std::signbit(x) ? 0x8000 : 0);
  const double a = std::fabs(x);
  uint16_t low = 0, high = largest;  // low <= a
  while (low < high) {
    const auto middle = static_cast<uint16_t>(low + (high - low + 1) / 2);
    (Value(T{middle}) <= a ? low : high) =
        Value(T{middle}) <= a ? middle : static_cast<uint16_t>(middle - 1);
  }
  const double below = Value(T{low});
  const double above = low == largest ? 2 * Value(T{low}) - Value(T{static_cast<uint16_t>(low - 1)})
                                      : Value(T{static_cast<uint16_t>(low + 1)});
  const bool up = a - below > above - a || (a - below == above - a && (low & 1) != 0);
  return T{static_cast<uint16_t>(sign | (low + (up ? 1 : 0)))};
}

constexpr uint16_t kLargestHalf = 0x7bff, kLargestBFloat16 = 0x7f7f;

TEST(HalfTest, EveryHalfIsTheFloatThatItsBitsSayAndComesBack) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const Half half{static_cast<uint16_t>(bits)};
    const float value = ToFloat(half);
    if (IsNan(half)) {
      ASSERT_TRUE(std::isnan(value)) << bits;
      ASSERT_EQ(ToHalf(value).bits, bits | 0x200) << bits;
      continue;
    }
    if ((bits & 0x7fff) != 0x7c00) {
      ASSERT_EQ(value, Value(half)) << bits;
    }
    ASSERT_EQ(std::signbit(value), bits >= 0x8000);
    ASSERT_EQ(ToHalf(value), half) << bits;
    ASSERT_EQ(ToFloat(BFloat16{half.bits}), std::bit_cast<float>(bits << 16));
  }
}

TEST(HalfTest, AnyFloatBecomesTheNearestWithTiesToEven) {
  std::mt19937 random(1);
  for (int i = 0; i < 300'000; ++i) {
    float x = std::bit_cast<float>(static_cast<uint32_t>(random()));
    if (i % 2 == 0) {  // at and beside the middle of two halves
      const auto bits = static_cast<uint16_t>(random() % kLargestHalf);
      x = static_cast<float>((Value(Half{bits}) + Value(Half{static_cast<uint16_t>(bits + 1)})) /
                             2);
      if (i % 3 == 0) x = std::nextafter(x, i % 4 == 0 ? 0.0f : 1e9f);
    }
    if (std::isnan(x)) {
      ASSERT_TRUE(IsNan(ToHalf(x)));
      ASSERT_TRUE(IsNan(ToBFloat16(x)));
      continue;
    }
    if (std::isinf(x)) continue;
    ASSERT_EQ(ToHalf(x), Nearest<Half>(std::clamp<double>(x, -70000, 70000), kLargestHalf)) << x;
    ASSERT_EQ(ToBFloat16(x), Nearest<BFloat16>(x, kLargestBFloat16)) << x;
  }
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(ToHalf(kInfinity).bits, 0x7c00);
  EXPECT_EQ(ToHalf(-kInfinity).bits, 0xfc00);
  EXPECT_EQ(ToHalf(65519.996f).bits, 0x7bff);
  EXPECT_EQ(ToHalf(65520.0f).bits, 0x7c00);
  EXPECT_EQ(ToBFloat16(-kInfinity).bits, 0xff80);
  EXPECT_EQ(ToBFloat16(std::numeric_limits<float>::max()).bits, 0x7f80);
}

TEST(HalfTest, LongerTypesAreRoundedOnce) {
  // A double just above the middle of two halves, by less than a float can tell.
  const double above = 1.0 + 0x1p-11 + 0x1p-40;
  EXPECT_EQ(ToHalf(ToFloatOdd(above)).bits, 0x3c01);
  EXPECT_EQ(ToHalf(static_cast<float>(above)).bits, 0x3c00);  // what rounding twice gives
  const int64_t big = (int64_t{1} << 62) + (int64_t{1} << 54) + 1;
  EXPECT_EQ(ToBFloat16(ToFloatOdd(big)).bits, 0x5e81);
  EXPECT_EQ(ToBFloat16(ToFloatOdd(-big)).bits, 0xde81);
  EXPECT_EQ(ToFloatOdd(std::numeric_limits<int64_t>::min()), -0x1p63f);
  EXPECT_EQ(ToFloatOdd(std::numeric_limits<uint64_t>::max()), std::nextafter(0x1p64f, 0.0f));
  EXPECT_EQ(ToFloatOdd(uint8_t{255}), 255.0f);
  std::mt19937_64 random(2);
  for (int i = 0; i < 100'000; ++i) {
    const double x =
        std::ldexp(static_cast<double>(random() >> 11), static_cast<int>(random() % 60) - 80);
    ASSERT_EQ(ToHalf(ToFloatOdd(x)), Nearest<Half>(std::min(x, 70000.0), kLargestHalf)) << x;
    ASSERT_EQ(ToBFloat16(ToFloatOdd(x)), Nearest<BFloat16>(x, kLargestBFloat16)) << x;
  }
}

TEST(HalfTest, ManyAtOnceGiveTheSameBitsAsOneByOne) {
  std::mt19937 random(3);
  std::vector<float> in(10'007);
  for (float& x : in) {
    x = random() % 4 == 0
            ? std::bit_cast<float>(static_cast<uint32_t>(random()))
            : std::ldexp(static_cast<float>(random()), -24 - static_cast<int>(random() % 24));
  }
  std::vector<Half> out(in.size());
  ToHalf(in, out);
  for (size_t i = 0; i < in.size(); ++i) ASSERT_EQ(out[i], ToHalf(in[i])) << in[i];
}

TEST(NumericTest, TextIsANumberAsAWholeOrNot) {
  int64_t i = 0;
  EXPECT_TRUE(ParseDecimal(" -12\n", i));
  EXPECT_EQ(i, -12);
  EXPECT_TRUE(ParseDecimal("+7", i));
  EXPECT_EQ(i, 7);
  for (const char* bad : {"", " ", "1 2", "1.0", "0x10", "+-1", "9223372036854775808", "12a"}) {
    EXPECT_FALSE(ParseDecimal(bad, i)) << bad;
  }
  EXPECT_FALSE(ParseDecimal(std::string_view("1\0", 2), i));
  uint8_t u = 0;
  EXPECT_TRUE(ParseDecimal("255", u));
  EXPECT_FALSE(ParseDecimal("256", u));
  EXPECT_FALSE(ParseDecimal("-1", u));
  float f = 0;
  EXPECT_TRUE(ParseDecimal("2.5e-3", f));
  EXPECT_EQ(f, 2.5e-3f);
  EXPECT_TRUE(ParseDecimal("-inf", f));
  EXPECT_TRUE(ParseDecimal("nan", f));
  EXPECT_FALSE(ParseDecimal("1e400", f));
  bool b = false;
  EXPECT_TRUE(ParseDecimal("true", b));
  EXPECT_TRUE(b);
  EXPECT_FALSE(ParseDecimal("yes", b));
  Half h;
  EXPECT_TRUE(ParseDecimal("1.5", h));
  EXPECT_EQ(h.bits, 0x3e00);
}

}  // namespace
}  // namespace headrace
