#include "common/status.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace headrace {
namespace {

TEST(StatusTest, AnnotateAddsContextAndKeepsCodeAndPayload) {
  absl::Status status = DataLoss("bad checksum at record {}", 3);
  status.SetPayload("k", absl::Cord("v"));
  const absl::Status out = Annotate(status, "while reading shard 7");
  EXPECT_EQ(out.code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(out.message(), "while reading shard 7: bad checksum at record 3");
  EXPECT_EQ(out.GetPayload("k").value(), "v");
  EXPECT_TRUE(Annotate(absl::OkStatus(), "x").ok());
}

TEST(StatusTest, AnErrnoBecomesItsCodeAndText) {
  EXPECT_EQ(OneLine(ErrnoStatus(ENOENT, "open a.tfrecord")),
            "NOT_FOUND: open a.tfrecord: No such file or directory");
}

TEST(StatusTest, OnlyPassingErrorsAreTransient) {
  EXPECT_TRUE(IsTransient(Unavailable("x")));
  EXPECT_FALSE(IsTransient(NotFound("x")));
  EXPECT_FALSE(IsTransient(absl::OkStatus()));
}

TEST(StatusTest, OneLineIsOneLine) { EXPECT_EQ(OneLine(Internal("a\nb")), "INTERNAL: a b"); }

absl::StatusOr<int> Half(int n) {
  if (n % 2 != 0) return InvalidArgument("{} is odd", n);
  return n / 2;
}
absl::StatusOr<int> Quarter(int n) {
  HR_ASSIGN_OR_RETURN(const int half, Half(n));
  HR_ASSIGN_OR_RETURN(const int quarter, Half(half));
  return quarter;
}

TEST(StatusTest, TheMacrosPassErrorsUp) {
  EXPECT_EQ(Quarter(8).value(), 2);
  EXPECT_EQ(Quarter(6).status(), InvalidArgument("3 is odd"));
}

}  // namespace
}  // namespace headrace
