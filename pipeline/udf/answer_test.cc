// The reader of answers against answers of its own making, right and damaged.
#include "pipeline/udf/answer.h"

#include <cstring>
#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "pipeline/udf/words.h"

namespace headrace::udf {
namespace {

// Two rows: one answered with {x: int64[?] of 2, s: bytes}, one failed.
class AnswerTest : public testing::Test {
 protected:
  AnswerTest() : words_(128) {
    spec_.inputs = {{"x", DType::kInt64, Shape{-1}}};
    spec_.outputs = {{"x", DType::kInt64, Shape{-1}}, {"s", DType::kBytes, {}}};
    const int64_t header[] = {1, 2, 1, 2, 400, 1, 416, 432, 4, 99};
    std::copy(std::begin(header), std::end(header), words_.begin());
    int64_t* x = Column(0);
    x[kColumnRank] = 1;
    x[kColumnDims] = 2;
    x[kColumnDataAt] = 440;
    x[kColumnDataBytes] = 16;
    x[kColumnItems] = 2;
    int64_t* s = Column(1);
    s[kColumnDataAt] = 472;
    s[kColumnDataBytes] = 3;
    s[kColumnOffsetsAt] = 456;
    s[kColumnItems] = 1;
    words_[50] = 1;  // 400: status
    words_[51] = -1;
    words_[53] = 4;  // 416: 0, 4
    std::memcpy(Byte(432), "oops", 4);
    words_[55] = 7;
    words_[56] = 8;
    words_[58] = 3;  // 456: 0, 3
    std::memcpy(Byte(472), "abc", 3);
  }
  int64_t* Column(size_t i) { return words_.data() + kHeaderWords + kColumnWords * i; }
  char* Byte(size_t at) { return reinterpret_cast<char*>(words_.data()) + at; }
  absl::StatusOr<Answer> Read(size_t rows = 2) {
    return ReadAnswer(std::as_bytes(std::span(words_)), spec_, rows, arena_);
  }

  FunctionSpec spec_;
  std::vector<int64_t> words_;
  Arena arena_;
};

TEST_F(AnswerTest, ReadsWhatWasWritten) {
  const absl::StatusOr<Answer> answer = Read();
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_THAT(answer->status, testing::ElementsAre(1, -1));
  EXPECT_THAT(answer->errors, testing::ElementsAre("oops"));
  EXPECT_THAT(answer->columns[0].cells[0].as<int64_t>(), testing::ElementsAre(7, 8));
  EXPECT_EQ(answer->columns[1].cells[0].string(), "abc");
  EXPECT_EQ(answer->cpu_nanos, 99u);
}

TEST_F(AnswerTest, OneRowOutOfEachNeedsNoList) {
  words_[kAnswerRows] = 1;
  words_[kAnswerErrors] = 0;
  words_[kAnswerStatusAt] = kEveryRow;
  const absl::StatusOr<Answer> answer = Read(1);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_THAT(answer->status, testing::ElementsAre(1));
  EXPECT_EQ(answer->columns[1].cells[0].string(), "abc");
  words_[kAnswerRowsOut] = 0;  // and its header must say the same
  EXPECT_FALSE(Read(1).ok());
}

TEST_F(AnswerTest, EveryWrongWordIsRefusedOrHarmless) {
  const std::vector<int64_t> right = words_;
  const int64_t values[] = {-1, 0, 3, 401, 1 << 20, INT64_MAX, INT64_MIN, INT64_MAX / 8};
  size_t refused = 0;
  for (size_t at = 0; at < 60; ++at) {
    for (const int64_t value : values) {
      words_ = right;
      words_[at] = value;
      const absl::StatusOr<Answer> answer = Read();
      if (answer.ok()) continue;
      ++refused;
      EXPECT_EQ(answer.status().code(), absl::StatusCode::kDataLoss);
    }
  }
  EXPECT_GT(refused, 150u);
}

TEST_F(AnswerTest, AShapeThatIsNotDeclaredIsRefused) {
  spec_.outputs[0].shape = Shape{3};
  EXPECT_THAT(std::string(Read().status().message()),
              testing::HasSubstr("field 'x': a shape [2], declared is [3]"));
}

TEST_F(AnswerTest, UnchangedIsForFieldsThatCameIn) {
  Column(0)[kColumnKind] = kUnchanged;
  ASSERT_TRUE(Read().ok());
  Column(1)[kColumnKind] = kUnchanged;
  EXPECT_FALSE(Read().ok());
  Column(1)[kColumnKind] = kDense;
  spec_.kind = FunctionKind::kFlatMap;
  EXPECT_FALSE(Read().ok());
}

TEST_F(AnswerTest, AnotherNumberOfRowsIsRefused) { EXPECT_FALSE(Read(3).ok()); }

TEST_F(AnswerTest, RandomDamageNeverReadsOutside) {
  std::mt19937_64 random(1);
  const std::vector<int64_t> right = words_;
  for (int round = 0; round < 20'000; ++round) {
    words_ = right;
    for (int i = 0; i < 3; ++i) Byte(0)[random() % 480] = static_cast<char>(random());
    (void)Read();
  }
}

}  // namespace
}  // namespace headrace::udf
