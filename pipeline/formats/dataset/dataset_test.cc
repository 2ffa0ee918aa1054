#include "pipeline/formats/dataset/dataset.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace headrace {
namespace {

class DatasetTest : public ::testing::Test {
 protected:
  DatasetTest() {
    RegisterAll_formats(formats_);
    dir_ = std::filesystem::temp_directory_path() / ("dataset_test_" + std::to_string(::getpid()));
    std::filesystem::create_directories(dir_);
  }
  ~DatasetTest() override { std::filesystem::remove_all(dir_); }

  void Write(const std::string& name, const std::string& text) {
    std::ofstream(dir_ / name) << text;
  }
  absl::StatusOr<Dataset> List(const v1::Source& source, SplitOptions options = {}) {
    return ListDataset(source, formats_, *files_, options);
  }
  v1::Source Files(const std::string& pattern, const std::string& format = "") {
    v1::Source source;
    source.add_files((dir_ / pattern).string());
    source.set_format(format);
    return source;
  }

  std::filesystem::path dir_;
  FormatRegistry formats_;
  std::unique_ptr<FileSystem> files_ = NewLocalFileSystem();
};

TEST_F(DatasetTest, TheFormatComesFromTheNamesOfTheFiles) {
  Write("a.jsonl", "{}\n");
  const auto dataset = List(Files("*.jsonl"));
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ(dataset->format_name, "jsonl");
  EXPECT_EQ(dataset->splits.size(), 1u);
  EXPECT_EQ(dataset->schema.ToString(), "{record: bytes []}");
}

TEST_F(DatasetTest, ItsVersionChangesWithAFileAndWithTheSplitOptions) {
  Write("a.jsonl", "{}\n");
  const auto first = List(Files("*.jsonl"));
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(List(Files("*.jsonl"))->version, first->version);
  EXPECT_NE(List(Files("*.jsonl"), {.target_bytes = 7})->version, first->version);
  Write("b.jsonl", "{}\n");
  EXPECT_NE(List(Files("*.jsonl"))->version, first->version);
}

TEST_F(DatasetTest, AFileThatTwoPatternsNameCountsOnce) {
  Write("a.jsonl", "{}\n");
  v1::Source source = Files("a.jsonl");
  source.add_files((dir_ / "*.jsonl").string());
  EXPECT_EQ(List(source)->files, 1u);
}

TEST_F(DatasetTest, NothingThatMatchesIsAnErrorAtTheSourcesPlace) {
  v1::Source source = Files("nothing-*.jsonl");
  source.set_location("train.yaml:2");
  const auto dataset = List(source);
  EXPECT_EQ(dataset.status().code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(std::string(dataset.status().message()).starts_with("train.yaml:2: source: "))
      << dataset.status();
}

TEST_F(DatasetTest, FilesOfAFormatWithoutFilesAreRefused) {
  EXPECT_FALSE(List(Files("x", "range")).ok());
  v1::Source none;
  none.set_format("jsonl");
  EXPECT_FALSE(List(none).ok());
}

TEST_F(DatasetTest, TheFilesOfADirectoryTellItsFormat) {
  Write("a.jsonl", "{}\n");
  Write("notes.md", "?");
  const auto dataset = List(Files(""));
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ(dataset->format_name, "jsonl");
  Write("b.tfrecord", "");
  EXPECT_NE(List(Files("")).status().message().find("look like jsonl and tfrecord"),
            absl::string_view::npos);
}

TEST_F(DatasetTest, LabelsDependOnThePatternNotOnWhichFoldersHaveFiles) {
  std::filesystem::create_directories(dir_ / "train" / "cat");
  Write("train/cat/1.jpg", "image");
  const auto root_length = [&](const std::vector<std::string>& patterns) {
    v1::Source source;
    for (const std::string& pattern : patterns) source.add_files(pattern);
    return List(source)->splits[0].root_length();
  };
  const std::string train = (dir_ / "train").string();
  EXPECT_EQ(root_length({train}), train.size());
  EXPECT_EQ(root_length({"file://" + train + "/"}), train.size());
  EXPECT_EQ(root_length({train + "/*/*.jpg"}), train.size());
  EXPECT_EQ(root_length({train + "/cat/*.jpg"}), train.size() + 4);
  EXPECT_EQ(root_length({train + "/cat/1.jpg"}), train.size() + 4);
  Write("train/2.jpg", "image");
  EXPECT_EQ(root_length({train + "/cat/1.jpg", train + "/2.jpg"}), train.size());
  EXPECT_EQ(root_length({train + "/{cat/1,2}.jpg"}), train.size());
}

TEST_F(DatasetTest, RelativePathsAreMadeAbsolute) {
  Write("a.jsonl", "{}\n");
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(dir_);
  v1::Source source;
  source.add_files("*.jsonl");
  const auto dataset = List(source);
  std::filesystem::current_path(before);
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ(dataset->splits[0].path(), std::filesystem::canonical(dir_).string() + "/a.jsonl");
}

TEST_F(DatasetTest, ANameThatIsNoUtf8IsRefusedNotBrokenOnTheWay) {
  Write("\xff.jsonl", "{}\n");
  const auto dataset = List(Files("*.jsonl"));
  EXPECT_EQ(dataset.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(dataset.status().message().find("\\xff.jsonl"), absl::string_view::npos)
      << dataset.status();
}

TEST_F(DatasetTest, SplitsKnowTheirFile) {
  for (const char* name : {"a.jsonl", "b.jsonl"}) Write(name, "{}\n{}\n{}\n{}\n");
  const auto dataset = List(Files("*.jsonl"), {.target_bytes = 3});
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  ASSERT_EQ(dataset->splits.size(), 8u);
  for (size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(dataset->splits[i].id(), i);
    EXPECT_EQ(dataset->splits[i].file_index(), i / 4);
  }
}

TEST_F(DatasetTest, AnUnknownEndingAsksForTheFormat) {
  Write("a.xyz", "?");
  const auto dataset = List(Files("a.xyz"));
  ASSERT_FALSE(dataset.ok());
  EXPECT_NE(dataset.status().message().find("name the `format`"), absl::string_view::npos);
}

}  // namespace
}  // namespace headrace
