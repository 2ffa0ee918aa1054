#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/test_data.h"
#include "pipeline/formats/testing/read_all.h"
#include "pipeline/sources/memory_file_system.h"

namespace headrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace testing_formats;  // NOLINT: a test's own vocabulary

TEST(JsonlTest, AnOverlongLineFailsAndTheNextOneIsRead) {
  MemoryFileSystem files;
  auto format = NewFormat("jsonl");
  files.Put("/a.jsonl", "{}\n\"" + std::string(100 << 20, 'x') + "\"\n[]\n");
  const ReadOutcome read =
      ReadFiles(*format, files, "/a.jsonl", 1ull << 40, {.max_record_bytes = 1 << 20});
  EXPECT_THAT(read.Column(), ElementsAre("{}", "[]"));
  EXPECT_THAT(read.Messages(), HasSubstr("/a.jsonl: byte 3, record 1"));
}

TEST(JsonlTest, BlankLinesKeepTheirIndexAndYieldNothing) {
  MemoryFileSystem files;
  auto format = NewFormat("jsonl");
  files.Put("/a.jsonl", "{\"a\":1}\n\n \t\r\n{\"a\":2}\r\n\n");
  const ReadOutcome read = ReadFiles(*format, files, "/a.jsonl");
  EXPECT_THAT(read.Column(), ElementsAre("{\"a\":1}", "{\"a\":2}"));
  EXPECT_EQ(read.rows[1].run.first, 3u);
  EXPECT_THAT(read.settled, ElementsAre(headrace::Run{0, 1, 2}, headrace::Run{0, 4, 1}));
  EXPECT_TRUE(read.failures.empty());
}

TEST(JsonlTest, RealFileHasAllRowsInSplitsOfAnySize) {
  const std::string shared = SharedData();
  if (shared.empty()) GTEST_SKIP() << "no shared data (set HEADRACE_SHARED_DATA)";
  auto files = NewLocalFileSystem();
  auto format = NewFormat("jsonl");
  const auto whole = ReadFiles(*format, *files, shared + "/text/*.jsonl").Column();
  EXPECT_EQ(whole.size(), 7473u);
  EXPECT_EQ(ReadFiles(*format, *files, shared + "/text/*.jsonl", 100'000).Column(), whole);
}

}  // namespace
}  // namespace headrace
