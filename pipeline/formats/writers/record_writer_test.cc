#include "pipeline/formats/writers/record_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "pipeline/formats/testing/read_all.h"

namespace headrace {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace testing_formats;  // NOLINT: a test's own vocabulary

class RecordWriterTest : public ::testing::Test {
 protected:
  RecordWriterTest() {
    std::string pattern = (fs::temp_directory_path() / "headrace-writers-XXXXXX").string();
    dir_ = fs::canonical(mkdtemp(pattern.data())).string();
  }
  ~RecordWriterTest() override {
    std::error_code ignored;
    fs::remove_all(dir_, ignored);
  }
  std::string At(const std::string& name) const { return dir_ + "/" + name; }
  std::vector<std::string> Names() const {
    std::vector<std::string> out;
    for (const auto& entry : fs::directory_iterator(dir_))
      out.push_back(entry.path().filename().string());
    return out;
  }
  static std::string Bytes(const std::string& path) {
    std::ostringstream out;
    out << std::ifstream(path, std::ios::binary).rdbuf();
    return out.str();
  }

  std::string dir_;
  std::unique_ptr<FileSystem> files_ = NewLocalFileSystem();
};

absl::Status Append(RecordWriter& writer, std::string_view key,
                    std::initializer_list<NamedBytes> fields) {
  return writer.Append(key, {fields.begin(), fields.size()});
}

TEST_F(RecordWriterTest, TfrecordsReadBackPlainAndCompressed) {
  const std::string big(3 << 20, 'b');
  for (Codec codec : {Codec::kNone, Codec::kGzip, Codec::kZlib}) {
    auto writer = *NewTfrecordWriter(At("a.tfrecord"), codec);
    for (std::string_view record :
         {std::string_view("one"), std::string_view(), std::string_view(big)}) {
      ASSERT_TRUE(Append(*writer, "", {{"record", record}}).ok());
    }
    EXPECT_EQ(writer->bytes(), big.size() + 3 + 3 * 16);
    ASSERT_TRUE(writer->Finish().ok());
    const ReadOutcome read = ReadFiles(*NewFormat("tfrecord"), *files_, At("a.tfrecord"));
    EXPECT_THAT(read.Column(), ElementsAre("one", "", big)) << Name(codec) << read.Messages();
  }
  EXPECT_THAT(Names(), ElementsAre("a.tfrecord"));
}

TEST_F(RecordWriterTest, ArchivesReadBackPlainAndCompressed) {
  const std::string deep = std::string(150, 'd') + "/0001";
  for (Codec codec : {Codec::kNone, Codec::kGzip}) {
    auto writer = *NewWebdatasetWriter(At("a.tar"), codec);
    ASSERT_TRUE(Append(*writer, "train/0", {{"jpg", "image"}, {"seg.png", ""}}).ok());
    ASSERT_TRUE(Append(*writer, deep, {{"jpg", std::string(512, 'x')}, {"seg.png", "y"}}).ok());
    ASSERT_TRUE(writer->Finish().ok());
    const ReadOutcome read = ReadFiles(*NewFormat("webdataset"), *files_, At("a.tar"));
    ASSERT_EQ(read.rows.size(), 2u) << read.Messages();
    EXPECT_THAT(read.rows[0].cells, ElementsAre("train/0", "image", ""));
    EXPECT_THAT(read.rows[1].cells, ElementsAre(deep, std::string(512, 'x'), "y"));
  }
}

TEST_F(RecordWriterTest, NothingIsThereBeforeFinishAndNothingIsLeftWithoutIt) {
  {
    auto writer = *NewTfrecordWriter(At("a.tfrecord"));
    ASSERT_TRUE(Append(*writer, "", {{"record", "half"}}).ok());
    EXPECT_FALSE(fs::exists(At("a.tfrecord")));
    // The file in progress is hidden from listings.
    EXPECT_EQ(files_->List(dir_).status().code(), absl::StatusCode::kNotFound);
  }
  EXPECT_THAT(Names(), IsEmpty());
}

TEST_F(RecordWriterTest, AFinishedFileReplacesTheOldOneAtOnce) {
  std::ofstream(At("a.tfrecord")) << "old";
  auto writer = *NewTfrecordWriter(At("a.tfrecord"));
  EXPECT_EQ(Bytes(At("a.tfrecord")), "old");
  ASSERT_TRUE(writer->Finish().ok());
  EXPECT_EQ(Bytes(At("a.tfrecord")), "");
}

TEST_F(RecordWriterTest, EqualRecordsGiveEqualArchives) {
  for (const char* name : {"a.tar", "b.tar"}) {
    auto writer = *NewWebdatasetWriter(At(name));
    ASSERT_TRUE(Append(*writer, "0", {{"txt", "text"}}).ok());
    ASSERT_TRUE(writer->Finish().ok());
  }
  EXPECT_EQ(Bytes(At("a.tar")), Bytes(At("b.tar")));
}

TEST_F(RecordWriterTest, WhatWouldNotReadBackIsRefusedAndTheWriterGoesOn) {
  auto writer = *NewWebdatasetWriter(At("a.tar"));
  ASSERT_TRUE(Append(*writer, "0", {{"txt", "text"}}).ok());
  const absl::Status refused[] = {Append(*writer, "a.b", {{"txt", ""}}),
                                  Append(*writer, "", {{"txt", ""}}),
                                  Append(*writer, ".a", {{"txt", ""}}),
                                  Append(*writer, "a/", {{"txt", ""}}),
                                  Append(*writer, "__a__/b", {{"txt", ""}}),
                                  Append(*writer, "a", {{"TXT", ""}}),
                                  Append(*writer, "a", {{"", ""}}),
                                  Append(*writer, "a", {{"x/y", ""}}),
                                  Append(*writer, "a", {}),
                                  Append(*writer, "a", {{"x", ""}, {"x", ""}}),
                                  Append(*writer, "0", {{"txt", "the key again"}})};
  for (const absl::Status& status : refused) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  }
  ASSERT_TRUE(Append(*writer, "1", {{"txt", "more"}}).ok());
  ASSERT_TRUE(writer->Finish().ok());
  EXPECT_THAT(ReadFiles(*NewFormat("webdataset"), *files_, At("a.tar")).Column(),
              ElementsAre("0", "1"));

  auto records = *NewTfrecordWriter(At("a.tfrecord"));
  EXPECT_EQ(Append(*records, "k", {{"a", ""}, {"b", ""}}).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(RecordWriterTest, AMissingDirectoryNamesThePath) {
  const auto writer = NewTfrecordWriter(At("no/a.tfrecord"));
  EXPECT_EQ(writer.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(writer.status().message()), HasSubstr("no/a.tfrecord"));
}

TEST_F(RecordWriterTest, ADiskThatTakesNoMoreIsAnErrorThatLeavesNothing) {
  // A limit of the file's size stands for the full disk.
  struct rlimit before;
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{1 << 20, before.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  auto writer = *NewTfrecordWriter(At("a.tfrecord"));
  const absl::Status full = Append(*writer, "", {{"record", std::string(3 << 20, 'x')}});
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_FALSE(full.ok());
  EXPECT_THAT(std::string(full.message()), HasSubstr(At("a.tfrecord") + ": byte 1048576"));
  writer.reset();
  EXPECT_THAT(Names(), IsEmpty());
}

}  // namespace
}  // namespace headrace
