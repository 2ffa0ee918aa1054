#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/test_data.h"
#include "pipeline/formats/testing/archives.h"
#include "pipeline/formats/testing/read_all.h"
#include "pipeline/sources/memory_file_system.h"
#include "pipeline/sources/testing/compress.h"

namespace headrace {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing_sources::Gzip;
using testing_sources::Zlib;
using testing_sources::Zstd;
using namespace testing_formats;  // NOLINT: a test's own vocabulary

class TfrecordTest : public ::testing::Test {
 protected:
  ReadOutcome Read(const std::string& path, std::string_view bytes,
                   uint64_t target = SplitOptions().target_bytes, const ReadLimits& limits = {}) {
    files_.Put(path, bytes);
    return ReadFiles(*format_, files_, path, target, limits);
  }

  MemoryFileSystem files_;
  std::unique_ptr<Format> format_ = NewFormat("tfrecord");
  const std::string three_ = Framed("one") + Framed("") + Framed("three");
};

TEST(TfrecordFramingTest, ChecksumsAreThoseOfTheFormat) {
  // RFC 3720's test vector: 32 zero bytes.
  const std::string zeros(32, '\0');
  EXPECT_EQ(Crc32c(std::as_bytes(std::span(zeros.data(), zeros.size()))), 0x8a9136aau);
}

TEST_F(TfrecordTest, ReadsRecordsOfAnySize) {
  const std::string big(5 << 20, 'b');
  EXPECT_THAT(Read("/a", three_ + Framed(big)).Column(), ElementsAre("one", "", "three", big));
  EXPECT_TRUE(Read("/a", "").rows.empty());
}

TEST_F(TfrecordTest, SplitsOfAnySizeGiveTheSameRecords) {
  std::string bytes;
  std::vector<std::string> expected;
  for (size_t i = 0; i < 2000; ++i) {
    expected.push_back(std::string(i * 37 % 5000, static_cast<char>('a' + i % 26)));
    bytes += Framed(expected.back());
  }
  for (uint64_t target : {1u, 1000u, 100'000u, 3'000'000u}) {
    const ReadOutcome read = Read("/a", bytes, target, {.max_rows = 13, .max_bytes = 10'000});
    EXPECT_EQ(read.Column(), expected) << target;
  }
  for (const v1::Split& split : SplitsOf(*format_, files_, "/a", 100'000)) {
    EXPECT_GE(split.end() - split.begin(), 50'000u);
    EXPECT_LE(split.end() - split.begin(), 160'000u);
  }
}

TEST_F(TfrecordTest, HoppingReadsHeadersNotRecords) {
  std::string bytes;
  for (int i = 0; i < 100; ++i) bytes += Framed(std::string(1 << 20, 'x'));
  files_.Put("/a", bytes);
  EXPECT_EQ(SplitsOf(*format_, files_, "/a", 10 << 20).size(), 10u);
  EXPECT_LT(files_.bytes_read(), 1u << 20);
}

TEST_F(TfrecordTest, CompressionIsSeenInTheFirstBytes) {
  std::string bytes;
  for (int i = 0; i < 3000; ++i) bytes += Framed("record " + std::to_string(i * 7919));
  const auto expected = Read("/a", bytes).Column();
  for (const std::string& compressed : {Gzip(bytes), Zlib(bytes), Zstd(bytes)}) {
    EXPECT_EQ(Read("/a", compressed, 100).Column(), expected);
    EXPECT_EQ(SplitsOf(*format_, files_, "/a", 100).size(), 1u);
  }
  format_ = NewFormat("tfrecord", {{"compression", ToValue(std::string("zlib"))}});
  EXPECT_EQ(Read("/a", Zlib(bytes), 100).Column(), expected);
  EXPECT_THAT(std::string(MakeFormat("tfrecord", {{"compression", ToValue(std::string("gzi"))}})
                              .status()
                              .message()),
              HasSubstr("did you mean 'gzip'?"));
}

TEST_F(TfrecordTest, AFlippedPayloadByteNamesPathOffsetAndIndexAndTheNextIsRead) {
  std::string bytes = three_ + Framed("four");
  bytes[19 + 16 + 12 + 1] ^= 1;  // in "three"
  const ReadOutcome read = Read("/a.tfrecord", bytes);
  EXPECT_THAT(read.Column(), ElementsAre("one", "", "four"));
  ASSERT_EQ(read.failures.size(), 1u);
  EXPECT_EQ(read.failures[0].record, (headrace::Run{0, 2, 1}));
  EXPECT_EQ(read.failures[0].status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(read.Messages(),
              HasSubstr("/a.tfrecord: byte 35, record 2 of split 0: the checksum"));
  EXPECT_FALSE(read.lost);
}

TEST_F(TfrecordTest, AFlippedLengthByteLosesTheRestOfTheSplit) {
  std::string bytes = three_ + Framed("four");
  bytes[19] ^= 1;
  const ReadOutcome read = Read("/a.tfrecord", bytes);
  EXPECT_THAT(read.Column(), ElementsAre("one"));
  EXPECT_TRUE(read.lost);
  EXPECT_THAT(read.Messages(), AllOf(HasSubstr("/a.tfrecord: byte 19, record 1 "),
                                     HasSubstr("write the file again")));
  // Cutting such a file stops at the damage, and only that split is lost.
  const ReadOutcome cut = Read("/a.tfrecord", Framed("zero") + bytes, 20);
  EXPECT_THAT(cut.Column(), ElementsAre("zero", "one"));
}

TEST_F(TfrecordTest, ACutOffFileLosesTheLastRecordOnly) {
  const std::string whole = three_ + Framed("four");
  for (size_t cut = three_.size() + 1; cut < whole.size(); ++cut) {
    const ReadOutcome read = Read("/a.tfrecord", whole.substr(0, cut));
    EXPECT_THAT(read.Column(), ElementsAre("one", "", "three")) << cut;
    EXPECT_TRUE(read.lost);
    EXPECT_THAT(read.Messages(),
                AllOf(HasSubstr("/a.tfrecord: byte 56, record 3 "), HasSubstr("cut off")));
  }
  EXPECT_FALSE(Read("/a.tfrecord", three_).lost);
}

TEST_F(TfrecordTest, ACutOffCompressedFileNamesBothOffsets) {
  std::string bytes;
  for (int i = 0; i < 30'000; ++i) bytes += Framed("record " + std::to_string(i * 7919 % 65'537));
  const std::string whole = Gzip(bytes);
  const ReadOutcome read = Read("/a.tfrecord.gz", whole.substr(0, whole.size() / 2));
  EXPECT_TRUE(read.lost);
  EXPECT_GT(read.rows.size(), 10'000u);
  EXPECT_THAT(read.Messages(),
              AllOf(HasSubstr("/a.tfrecord.gz: decompressed byte "),
                    HasSubstr("compressed byte " + std::to_string(whole.size() / 2))));
}

TEST_F(TfrecordTest, ARecordOverTheLimitFailsAlone) {
  const ReadOutcome read =
      Read("/a", Framed("one") + Framed(std::string(3 << 20, 'x')) + Framed("three"), 1ull << 40,
           {.max_record_bytes = 1000});
  EXPECT_THAT(read.Column(), ElementsAre("one", "three"));
  EXPECT_EQ(read.failures.at(0).status.code(), absl::StatusCode::kOutOfRange);
  EXPECT_THAT(read.Messages(),
              HasSubstr("/a: byte 19, record 1 of split 0: the record of 3145728 bytes"));
}

TEST_F(TfrecordTest, AHugeLengthIsNotBelieved) {
  std::string header(kTfrecordHeaderBytes, '\0');
  WriteTfrecordHeader(UINT64_MAX - 3, reinterpret_cast<std::byte*>(header.data()));
  EXPECT_THAT(Read("/a", header + "xx").Messages(), HasSubstr("/a: byte 0, record 0"));
  EXPECT_TRUE(Read("/a", Gzip(header + "xx")).lost);
  WriteTfrecordHeader(1 << 29, reinterpret_cast<std::byte*>(header.data()));
  EXPECT_TRUE(Read("/a", Gzip(header + "xx")).lost);
}

TEST_F(TfrecordTest, ATextFileSaysThatItIsNoTfrecord) {
  EXPECT_THAT(Read("/a", "hello, this is text\n").Messages(), HasSubstr("no TFRecord file"));
}

TEST_F(TfrecordTest, GoneChangedAndForbiddenFilesAreErrorsOfTheFile) {
  files_.Put("/a", three_);
  const auto split = SplitsOf(*format_, files_, "/a", 100).front();
  const auto schema = std::make_shared<const Schema>(*format_->RecordSchema(files_, {}));
  files_.Put("/a", three_);
  EXPECT_EQ(ReadSplit(*format_, files_, split, schema).error.code(),
            absl::StatusCode::kFailedPrecondition);
  files_.Refuse("/a", absl::PermissionDeniedError("/a: no"));
  EXPECT_EQ(ReadSplit(*format_, files_, split, schema).error.code(),
            absl::StatusCode::kPermissionDenied);
  files_.Remove("/a");
  EXPECT_EQ(ReadSplit(*format_, files_, split, schema).error.code(), absl::StatusCode::kNotFound);
}

TEST_F(TfrecordTest, RealFilesOfOtherWritersReadWhole) {
  const std::string shared = SharedData();
  if (shared.empty()) GTEST_SKIP() << "no shared data (set HEADRACE_SHARED_DATA)";
  auto files = NewLocalFileSystem();
  const std::pair<const char*, size_t> expected[] = {
      {"test_tf_file_3_images-train-0000-of-0001.data", 3},
      {"testTFBert5Rows-5TFDatas.data", 5},
      {"testTFRecordData-dummy.tfrecord", 10},
      {"testTFTestAllTypes-test.data", 12}};
  for (const auto& [name, records] : expected) {
    const ReadOutcome read = ReadFiles(*format_, *files, shared + "/tfrecord/" + name);
    EXPECT_EQ(read.rows.size(), records) << name;
    EXPECT_TRUE(read.failures.empty()) << read.Messages();
    EXPECT_EQ(ReadFiles(*format_, *files, shared + "/tfrecord/" + name, 1).Column(), read.Column());
  }
}

}  // namespace
}  // namespace headrace
