#include "common/config/value.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/status.h"

namespace headrace {
namespace {

ConfigText Text(std::string s) { return {ConfigText::Kind::kScalar, {std::move(s)}}; }

template <typename V>
V Read(const std::string& text) {
  V value{};
  EXPECT_TRUE(FromText(Text(text), value).ok()) << text;
  return value;
}
template <typename V>
bool Refused(const std::string& text) {
  V value{};
  return FromText(Text(text), value).code() == absl::StatusCode::kInvalidArgument;
}

TEST(ConfigValueTest, WhatIsWrittenIsReadBack) {
  for (const double v : {0.0, 0.1, -1e300, 5e-324, 1.0 / 3}) {
    EXPECT_EQ(Read<double>(ToText(v).items[0]), v);
  }
  for (const absl::Duration v : {absl::ZeroDuration(), absl::Nanoseconds(1),
                                 absl::Milliseconds(500), absl::Minutes(90), absl::Hours(10'000)}) {
    EXPECT_EQ(Read<absl::Duration>(ToText(v).items[0]), v);
  }
  EXPECT_EQ(Read<int64_t>(ToText(INT64_MIN).items[0]), INT64_MIN);
  EXPECT_EQ(Read<bool>(ToText(true).items[0]), true);
}

TEST(ConfigValueTest, WhatWouldSurpriseIsRefused) {
  EXPECT_TRUE(Refused<bool>("yes"));
  EXPECT_TRUE(Refused<int>("3.5"));
  EXPECT_TRUE(Refused<int>("2147483648"));
  EXPECT_TRUE(Refused<int64_t>("9223372036854775808"));
  EXPECT_TRUE(Refused<int64_t>(""));
  EXPECT_TRUE(Refused<double>("nan"));
  EXPECT_TRUE(Refused<double>("inf"));
  EXPECT_TRUE(Refused<absl::Duration>("inf"));
  EXPECT_TRUE(Refused<absl::Duration>("-1s"));
  EXPECT_TRUE(Refused<absl::Duration>("500"));
  EXPECT_TRUE(Refused<ByteCount>("lots"));
}

TEST(ConfigValueTest, ALongTextIsCutInErrors) {
  int value = 0;
  EXPECT_LT(FromText(Text(std::string(10'000, 'x')), value).message().size(), 150u);
}

}  // namespace
}  // namespace headrace
