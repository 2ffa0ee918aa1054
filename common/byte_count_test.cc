#include "common/byte_count.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headrace {
namespace {

TEST(ByteCountTest, ReadsTheUnitsPeopleWrite) {
  EXPECT_EQ(ParseByteCount("64MiB").value(), MiB(64));
  EXPECT_EQ(ParseByteCount("1.5 GiB").value(), MiB(1536));
  EXPECT_EQ(ParseByteCount("10MB").value(), ByteCount{10'000'000});
  EXPECT_EQ(ParseByteCount("512B").value(), ByteCount{512});
  EXPECT_EQ(ParseByteCount("0").value(), ByteCount{0});
  EXPECT_EQ(ParseByteCount("9223372036854775807").value(), ByteCount{INT64_MAX});
}

TEST(ByteCountTest, RefusesWhatItCannotHold) {
  for (const char* wrong : {"", "MiB", "-1", "64 mib", "1.2.3MiB", "64Mi", "0.3B", "9000PiB", "1e3",
                            "99999999999999999999", "9999999.5GiB"}) {
    EXPECT_EQ(ParseByteCount(wrong).status().code(), absl::StatusCode::kInvalidArgument) << wrong;
  }
}

TEST(ByteCountTest, WhatIsWrittenIsReadBack) {
  for (const int64_t bytes : {int64_t{0}, int64_t{1}, int64_t{1000}, int64_t{1024}, int64_t{1536},
                              int64_t{1} << 30, (int64_t{1} << 30) + 1, INT64_MAX}) {
    EXPECT_EQ(ParseByteCount(FormatByteCount({bytes})).value(), ByteCount{bytes});
  }
  EXPECT_EQ(FormatByteCount(MiB(64)), "64MiB");
  EXPECT_EQ(FormatByteCount({1536 << 10}), "1536KiB");
}

TEST(ByteCountTest, PeopleReadThreeDigits) {
  EXPECT_EQ(HumanBytes(999), "999 B");
  EXPECT_EQ(HumanBytes(1536), "1.50 KiB");
  EXPECT_EQ(HumanBytes(64.0 * (1 << 20)), "64.0 MiB");
  EXPECT_EQ(HumanBytes(1000.0 * 1024), "0.98 MiB");
  EXPECT_EQ(HumanBytes(512.0 * (1 << 20)), "512 MiB");
}

}  // namespace
}  // namespace headrace
