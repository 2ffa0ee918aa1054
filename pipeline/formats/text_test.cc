#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/test_data.h"
#include "pipeline/formats/testing/read_all.h"
#include "pipeline/sources/memory_file_system.h"
#include "pipeline/sources/testing/compress.h"

namespace headrace {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing_sources::Gzip;
using testing_sources::Zstd;
using namespace testing_formats;  // NOLINT: a test's own vocabulary

class TextTest : public ::testing::Test {
 protected:
  ReadOutcome Read(const std::string& path, std::string_view bytes,
                   uint64_t target = SplitOptions().target_bytes, const ReadLimits& limits = {}) {
    files_.Put(path, bytes);
    return ReadFiles(*format_, files_, path, target, limits);
  }

  MemoryFileSystem files_;
  std::unique_ptr<Format> format_ = NewFormat("text");
};

TEST_F(TextTest, LineEndsOfBothKindsAndNone) {
  EXPECT_THAT(Read("/a.txt", "a\nb\r\n\n\rc").Column(), ElementsAre("a", "b", "", "\rc"));
  EXPECT_THAT(Read("/a.txt", "a\n").Column(), ElementsAre("a"));
  EXPECT_THAT(Read("/a.txt", "\n\n").Column(), ElementsAre("", ""));
  EXPECT_THAT(Read("/a.txt", "last\r").Column(), ElementsAre("last\r"));
  EXPECT_TRUE(Read("/a.txt", "").rows.empty());
}

TEST_F(TextTest, AByteOrderMarkIsPassedOver) {
  EXPECT_THAT(Read("/a.txt", "\xEF\xBB\xBFhi\n\xEF\xBB\xBFho\n").Column(),
              ElementsAre("hi", "\xEF\xBB\xBFho"));
}

TEST_F(TextTest, SplitsOfAnySizeGiveTheSameLines) {
  std::string text;
  for (int i = 0; i < 3000; ++i)
    text += std::string(static_cast<size_t>(i * 7 % 90), 'x') + std::to_string(i) + "\n";
  text += "no newline";
  const auto whole = Read("/a.txt", text).Column();
  EXPECT_EQ(whole.size(), 3001u);
  for (uint64_t target : {1u, 2u, 33u, 1000u, 40000u, 90000u}) {
    const ReadOutcome read = Read("/a.txt", text, target, {.max_rows = 10});
    EXPECT_EQ(read.Column(), whole) << target;
    EXPECT_TRUE(read.failures.empty());
  }
  EXPECT_EQ(SplitsOf(*format_, files_, "/a.txt", 40000).size(), (text.size() + 20000) / 40000);
}

TEST_F(TextTest, CompressedFilesAreOneSplit) {
  std::string text;
  for (int i = 0; i < 200'000; ++i) text += "line " + std::to_string(i) + "\n";
  const auto whole = Read("/a.txt", text).Column();
  EXPECT_EQ(Read("/a.txt.gz", Gzip(text), 100).Column(), whole);
  EXPECT_EQ(Read("/a.txt.zst", Zstd(text), 100).Column(), whole);
  EXPECT_EQ(SplitsOf(*format_, files_, "/a.txt.gz", 100).size(), 1u);
  EXPECT_EQ(Read("/odd-name.txt", Gzip(text), 100).Column(), whole);
  EXPECT_EQ(SplitsOf(*format_, files_, "/odd-name.txt", 100).size(), 1u);
}

TEST_F(TextTest, ACutOffGzipGivesItsLinesThenOneFailedRecord) {
  std::string text;
  for (int i = 0; i < 200'000; ++i) text += "line " + std::to_string(i * 7919 % 100'003) + "\n";
  const std::string whole = Gzip(text);
  const ReadOutcome read = Read("/a.txt.gz", whole.substr(0, whole.size() / 2));
  EXPECT_TRUE(read.error.ok()) << read.error;
  EXPECT_TRUE(read.lost);
  EXPECT_GT(read.rows.size(), 50'000u);
  ASSERT_EQ(read.failures.size(), 1u);
  EXPECT_THAT(read.Messages(),
              AllOf(HasSubstr("/a.txt.gz"), HasSubstr("record " + std::to_string(read.rows.size())),
                    HasSubstr("compressed byte " + std::to_string(whole.size() / 2))));
}

TEST_F(TextTest, ALineOverTheLimitFailsAloneAndIsNotHeld) {
  const std::string huge(100 << 20, 'x');
  files_.Put("/a.txt", "before\n" + huge + "\nafter\n" + huge);
  const ReadOutcome read =
      ReadFiles(*format_, files_, "/a.txt", 1ull << 40, {.max_record_bytes = 1000});
  EXPECT_THAT(read.Column(), ElementsAre("before", "after"));
  ASSERT_EQ(read.failures.size(), 2u);
  EXPECT_EQ(read.failures[0].record.first, 1u);
  EXPECT_EQ(read.failures[0].status.code(), absl::StatusCode::kOutOfRange);
  EXPECT_THAT(read.Messages(), AllOf(HasSubstr("/a.txt: byte 7, record 1"),
                                     HasSubstr("104857600 bytes"), HasSubstr("max_record_bytes")));
}

TEST_F(TextTest, ALineOfTheLimitIsStillRead) {
  const ReadOutcome read =
      Read("/a.txt", "12345\r\n123456\n12345\n", 1000, {.max_record_bytes = 5});
  EXPECT_THAT(read.Column(), ElementsAre("12345", "12345"));
  EXPECT_EQ(read.failures.size(), 1u);
}

TEST_F(TextTest, AFailingDiskIsAnErrorOfTheFile) {
  files_.Put("/a.txt", std::string(3 << 20, 'x'));
  files_.FailReads("/a.txt", 2 << 20, absl::UnavailableError("/a.txt: disk"));
  EXPECT_EQ(ReadFiles(*format_, files_, "/a.txt").error.code(), absl::StatusCode::kUnavailable);
}

TEST_F(TextTest, GoneAndForbiddenFilesAreErrorsOfTheFile) {
  files_.Put("/a.txt", "x\n");
  const auto split = SplitsOf(*format_, files_, "/a.txt", 100).front();
  const auto schema = std::make_shared<const Schema>(*format_->RecordSchema(files_, {}));
  files_.Put("/a.txt", "y\n");
  EXPECT_EQ(ReadSplit(*format_, files_, split, schema).error.code(),
            absl::StatusCode::kFailedPrecondition);
  files_.Refuse("/a.txt", absl::PermissionDeniedError("/a.txt: no"));
  EXPECT_EQ(ReadSplit(*format_, files_, split, schema).error.code(),
            absl::StatusCode::kPermissionDenied);
  files_.Remove("/a.txt");
  EXPECT_EQ(ReadSplit(*format_, files_, split, schema).error.code(), absl::StatusCode::kNotFound);
}

TEST_F(TextTest, RealTextHasTheLinesThatWcCounts) {
  const std::string shared = SharedData();
  if (shared.empty()) GTEST_SKIP() << "no shared data (set HEADRACE_SHARED_DATA)";
  auto files = NewLocalFileSystem();
  for (uint64_t target : {1000ull, 1ull << 30}) {
    EXPECT_EQ(ReadFiles(*format_, *files, shared + "/text/tinyshakespeare.txt", target).rows.size(),
              40000u);
  }
}

}  // namespace
}  // namespace headrace
