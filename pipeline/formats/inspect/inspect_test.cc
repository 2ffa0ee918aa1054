#include "pipeline/formats/inspect/inspect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/test_data.h"
#include "pipeline/formats/testing/archives.h"
#include "pipeline/sources/memory_file_system.h"
#include "pipeline/sources/testing/compress.h"

namespace headrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using namespace testing_formats;  // NOLINT: a test's own vocabulary
using testing_sources::Gzip;

class InspectTest : public ::testing::Test {
 protected:
  InspectTest() { RegisterAll_formats(formats_); }
  std::string Guess(const std::string& path, std::string_view bytes) {
    files_.Put(path, bytes);
    const auto spec = GuessFormat(files_, formats_, path);
    return spec.ok() ? (*spec)->name : std::string(spec.status().message());
  }
  absl::StatusOr<InspectReport> Inspect(const std::string& path, std::string_view bytes,
                                        const InspectOptions& options = {}) {
    files_.Put(path, bytes);
    return InspectFile(files_, formats_, path, options);
  }

  FormatRegistry formats_;
  MemoryFileSystem files_;
};

TEST_F(InspectTest, TheNameTellsTheFormatThenTheFirstBytes) {
  EXPECT_EQ(Guess("/a.TFRecord", ""), "tfrecord");
  EXPECT_EQ(Guess("/a.jsonl.gz", ""), "jsonl");
  EXPECT_EQ(Guess("/part-0", Framed("x")), "tfrecord");
  EXPECT_EQ(Guess("/part-0", Gzip(Framed("x"))), "tfrecord");
  EXPECT_EQ(Guess("/part-0", Member("a.jpg", "x")), "webdataset");
  EXPECT_EQ(Guess("/part-0", Gzip(LongNameMember(std::string(120, 'n') + ".jpg", "x"))),
            "webdataset");
  EXPECT_EQ(Guess("/part-0", "\xff\xd8\xff\xe0 jpeg"), "image_folder");
  EXPECT_EQ(Guess("/part-0", "\n {\"a\": 1}\n"), "jsonl");
  EXPECT_EQ(Guess("/part-0", "h\xc3\xa9llo\n"), "text");
  EXPECT_EQ(Guess("/part-0", std::string(4095, 'x') + "\xc3\xa9"), "text");
  EXPECT_THAT(Guess("/part-0", std::string_view("\0\1\2\3\4\5\6\7", 8)),
              AllOf(HasSubstr("/part-0"), HasSubstr("name the format")));
}

TEST_F(InspectTest, ASoundFileIsCounted) {
  const auto report = Inspect("/a.tfrecord", Framed("12345") + Framed("123"));
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_TRUE(report->sound());
  EXPECT_EQ(report->format, "tfrecord");
  EXPECT_EQ(report->records, 2u);
  EXPECT_EQ(report->record_bytes, 8u);
  EXPECT_EQ(report->largest_record, 5u);
  EXPECT_EQ(report->file_bytes, 40u);
  EXPECT_EQ(report->checksums, "records");
  EXPECT_EQ(report->codec, "none");
  EXPECT_EQ(report->schema.ToString(), "{record: bytes []}");
  EXPECT_EQ(Inspect("/a.tgz", Gzip(Member("a.jpg", "x")))->checksums,
            "headers and compressed data");
  EXPECT_EQ(Inspect("/a.jsonl", "{}\n\n[]\n")->blank, 1u);
  EXPECT_EQ(Inspect("/a.jsonl", "{}\n\n[]\n")->records, 2u);
}

TEST_F(InspectTest, EachDamagedRecordHasItsIndexAndOffset) {
  std::string bytes;
  for (int i = 0; i < 200; ++i) bytes += Framed("record of 20 bytes..");
  bytes[36 * 3 + 20] ^= 1;
  bytes[36 * 150 + 20] ^= 1;
  const auto report = Inspect("/a.tfrecord", bytes.substr(0, bytes.size() - 1));
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_FALSE(report->sound());
  EXPECT_EQ(report->records, 197u);
  ASSERT_EQ(report->damaged.size(), 3u);
  EXPECT_EQ(report->damaged[0].index, 3u);
  EXPECT_EQ(report->damaged[0].offset, 108u);
  EXPECT_EQ(report->damaged[1].index, 150u);
  EXPECT_EQ(report->damaged[1].offset, 5400u);
  EXPECT_EQ(report->damaged[2].index, 199u);
  EXPECT_THAT(report->damaged[2].message, HasSubstr("/a.tfrecord: byte 7164, record 199"));
  EXPECT_TRUE(report->records_lost);
  EXPECT_EQ(report->blank, 0u);

  const auto few = Inspect("/a.tfrecord", bytes, {.max_damaged = 1});
  EXPECT_EQ(few->damaged.size(), 1u);
  EXPECT_EQ(few->damaged_count, 2u);
}

TEST_F(InspectTest, ErrorsOfTheWholeFileAreErrors) {
  EXPECT_EQ(InspectFile(files_, formats_, "/none").status().code(), absl::StatusCode::kNotFound);
  EXPECT_FALSE(Inspect("/a.txt", "x", {.format = "tfrecords"}).ok());
  EXPECT_FALSE(Inspect("/a.txt", "x", {.format = "range"}).ok());
}

TEST_F(InspectTest, ProgressMayStopIt) {
  files_.Put("/a.txt", std::string(10'000, '\n'));
  const auto report = InspectFile(files_, formats_, "/a.txt", {},
                                  [](const InspectReport& r) { return r.records < 100; });
  EXPECT_EQ(report.status().code(), absl::StatusCode::kCancelled);
}

TEST_F(InspectTest, RealFilesAreSound) {
  const std::string shared = SharedData();
  if (shared.empty()) GTEST_SKIP() << "no shared data (set HEADRACE_SHARED_DATA)";
  auto files = NewLocalFileSystem();
  uint64_t records = 0;
  for (const char* folder : {"/tfrecord", "/webdataset", "/text"}) {
    const auto listed = files->List(shared + folder);
    ASSERT_TRUE(listed.ok()) << listed.status();
    for (const FileInfo& info : *listed) {
      const auto report = InspectFile(*files, formats_, info.path);
      ASSERT_TRUE(report.ok()) << report.status();
      EXPECT_TRUE(report->sound()) << info.path;
      records += report->records;
    }
  }
  EXPECT_EQ(records, 30u + 293u + 47473u);
}

}  // namespace
}  // namespace headrace
