#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "common/test_data.h"
#include "pipeline/formats/reading/file_run.h"
#include "pipeline/formats/testing/read_all.h"
#include "pipeline/sources/memory_file_system.h"

namespace headrace {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace testing_formats;  // NOLINT: a test's own vocabulary

class ImageFolderTest : public ::testing::Test {
 protected:
  std::vector<v1::Split> Splits(const std::string& pattern, const std::string& root,
                                uint64_t target = 1 << 20) {
    auto splits = *format_->SplitListing(files_, {*files_.List(pattern), root}, {target});
    for (size_t i = 0; i < splits.size(); ++i) splits[i].set_id(i);
    return splits;
  }
  ReadOutcome Read(const v1::Split& split, const ReadLimits& limits = {}) {
    return ReadSplit(*format_, files_, split, schema_, limits);
  }

  MemoryFileSystem files_;
  std::unique_ptr<Format> format_ = NewFormat("image_folder");
  const SchemaPtr schema_ = std::make_shared<const Schema>(*format_->RecordSchema(files_, {}));
};

TEST_F(ImageFolderTest, TheFolderIsTheLabel) {
  for (const char* path : {"/d/cat/1.jpg", "/d/cat/2.JPEG", "/d/dog/3.Png", "/d/dog/deep/4.webp",
                           "/d/top.jpg", "/d/notes.txt"}) {
    files_.Put(path, std::string("bytes of ") + path);
  }
  const auto splits = Splits("/d", "/d");
  ASSERT_EQ(splits.size(), 1u);
  const ReadOutcome read = Read(splits[0]);
  EXPECT_THAT(read.Column(0), ElementsAre("bytes of /d/cat/1.jpg", "bytes of /d/cat/2.JPEG",
                                          "bytes of /d/dog/3.Png", "bytes of /d/dog/deep/4.webp",
                                          "bytes of /d/top.jpg"));
  EXPECT_THAT(read.Column(1), ElementsAre("cat", "cat", "dog", "deep", ""));
  EXPECT_THAT(read.Column(2), ElementsAre("/d/cat/1.jpg", "/d/cat/2.JPEG", "/d/dog/3.Png",
                                          "/d/dog/deep/4.webp", "/d/top.jpg"));
}

TEST_F(ImageFolderTest, ASplitHoldsManyFiles) {
  for (int i = 0; i < 1000; ++i) {
    files_.Put("/d/c" + std::to_string(i % 7) + "/" + std::to_string(i) + ".jpg",
               std::string(100, 'x'));
  }
  const auto splits = Splits("/d", "/d", 10'000);
  EXPECT_EQ(splits.size(), 10u);
  std::set<std::string> paths;
  for (const v1::Split& split : splits) {
    EXPECT_EQ(split.end(), 100u);
    for (const std::string& path : Read(split, {.max_rows = 9}).Column(2)) paths.insert(path);
    // Paths share their beginnings: the list stays small.
    EXPECT_LT(split.ByteSizeLong(), 100u * 20);
  }
  EXPECT_EQ(paths.size(), 1000u);
}

TEST_F(ImageFolderTest, SplitsHaveABoundOnFiles) {
  for (int i = 0; i < 5000; ++i) files_.Put("/d/" + std::to_string(i) + ".jpg", "");
  EXPECT_EQ(Splits("/d", "/d").size(), 2u);
}

TEST_F(ImageFolderTest, ADeletedOrChangedFileFailsItsRecordAlone) {
  for (const char* path : {"/d/1.jpg", "/d/2.jpg", "/d/3.jpg", "/d/4.jpg"})
    files_.Put(path, "image");
  const auto split = Splits("/d", "/d").front();
  files_.Remove("/d/2.jpg");
  files_.Put("/d/3.jpg", "another");
  const ReadOutcome read = Read(split);
  EXPECT_THAT(read.Column(2), ElementsAre("/d/1.jpg", "/d/4.jpg"));
  ASSERT_EQ(read.failures.size(), 2u);
  EXPECT_EQ(read.failures[0].status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(read.failures[1].status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(read.Messages(), AllOf(HasSubstr("/d/2.jpg"),
                                     HasSubstr("record 2 of split 0: /d/3.jpg: has 7 bytes")));
  EXPECT_EQ(read.rows[1].run.first, 3u);
}

TEST_F(ImageFolderTest, AForbiddenFileIsAnErrorAndAnOverlongOneAFailedRecord) {
  files_.Put("/d/1.jpg", std::string(5000, 'x'));
  files_.Put("/d/2.jpg", "image");
  const auto split = Splits("/d", "/d").front();
  const ReadOutcome read = Read(split, {.max_record_bytes = 1000});
  EXPECT_EQ(read.failures.at(0).status.code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(read.rows.size(), 1u);
  files_.Refuse("/d/2.jpg", absl::PermissionDeniedError("/d/2.jpg: no"));
  EXPECT_EQ(Read(split).error.code(), absl::StatusCode::kPermissionDenied);
}

TEST_F(ImageFolderTest, AListingWithoutImagesIsAnError) {
  files_.Put("/d/a.txt", "x");
  const auto splits = format_->SplitListing(files_, {*files_.List("/d"), "/d"}, {});
  EXPECT_EQ(splits.status().code(), absl::StatusCode::kNotFound);
}

TEST_F(ImageFolderTest, ADamagedFileListIsRefused) {
  files_.Put("/d/1.jpg", "a");
  files_.Put("/d/2.jpg", "b");
  for (int field = 0; field < 4; ++field) {
    v1::Split split = Splits("/d", "/d").front();
    v1::FileRun& run = *split.mutable_more_files();
    if (field == 0) run.set_keep(0, 1000);
    if (field == 1) run.set_tail_length(0, 1000);
    if (field == 2) run.clear_size();
    if (field == 3) run.clear_tails();
    EXPECT_EQ(Read(split).error.code(), absl::StatusCode::kInvalidArgument) << field;
  }
}

TEST_F(ImageFolderTest, RealImagesReadWhole) {
  const std::string shared = SharedData();
  if (shared.empty()) GTEST_SKIP() << "no shared data (set HEADRACE_SHARED_DATA)";
  auto files = NewLocalFileSystem();
  const ReadOutcome read = ReadFiles(*format_, *files, shared + "/imagenet", 5 << 20);
  EXPECT_EQ(read.rows.size(), 250u);
  for (const std::string& image : read.Column(0)) EXPECT_EQ(image.substr(0, 2), "\xff\xd8");
  EXPECT_EQ(SplitsOf(*format_, *files, shared + "/imagenet", 5 << 20).size(), 6u);
}

}  // namespace
}  // namespace headrace
