#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "pipeline/sources/file_system.h"

namespace headrace {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class LocalFileSystemTest : public ::testing::Test {
 protected:
  LocalFileSystemTest() {
    std::string pattern = (fs::temp_directory_path() / "headrace-files-XXXXXX").string();
    root_ = fs::canonical(mkdtemp(pattern.data())).string();
    chmod(root_.c_str(), 0755);
  }
  ~LocalFileSystemTest() override {
    std::error_code ignored;
    fs::remove_all(root_, ignored);
  }

  std::string At(const std::string& name) const { return root_ + "/" + name; }
  void Write(const std::string& name, const std::string& bytes = "x") {
    fs::create_directories(fs::path(At(name)).parent_path());
    std::ofstream(At(name), std::ios::binary) << bytes;
  }
  // What `pattern` (below the root) lists, without the root; the message of the error otherwise.
  std::vector<std::string> List(const std::string& pattern) {
    const auto listed = files_->List(At(pattern));
    if (!listed.ok()) return {std::string(listed.status().message())};
    std::vector<std::string> out;
    for (const FileInfo& info : *listed) out.push_back(info.path.substr(root_.size() + 1));
    return out;
  }

  std::string root_;
  std::unique_ptr<FileSystem> files_ = NewLocalFileSystem();
};

// Reads as a user without rights while alive, where the test runs as root.
class AsNobody {
 public:
  AsNobody() : before_(setfsuid(65534)) {}
  ~AsNobody() { setfsuid(static_cast<uid_t>(before_)); }

 private:
  int before_;
};

TEST_F(LocalFileSystemTest, ReadsAnyRange) {
  Write("a", "0123456789");
  auto file = files_->Open("file://" + At("a"));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ((*file)->info().size, 10u);
  std::byte buffer[16];
  EXPECT_EQ(*(*file)->ReadAt(3, {buffer, 4}), 4u);
  EXPECT_EQ(std::memcmp(buffer, "3456", 4), 0);
  EXPECT_EQ(*(*file)->ReadAt(8, buffer), 2u);
  EXPECT_EQ(*(*file)->ReadAt(99, buffer), 0u);
}

TEST_F(LocalFileSystemTest, GlobsAreSortedAndLeaveOutIgnoredNames) {
  for (const char* name :
       {"d/b.txt", "d/a.txt", "d/_SUCCESS", "d/.crc", "d/e/c.txt", "d/_tmp/x.txt"}) {
    Write(name);
  }
  EXPECT_THAT(List("d/*.txt"), ElementsAre("d/a.txt", "d/b.txt"));
  EXPECT_THAT(List("d/**/*.txt"), ElementsAre("d/a.txt", "d/b.txt", "d/e/c.txt"));
  EXPECT_THAT(List("d"), ElementsAre("d/a.txt", "d/b.txt", "d/e/c.txt"));
  EXPECT_THAT(List("d/**"), ElementsAre("d/a.txt", "d/b.txt", "d/e/c.txt"));
  EXPECT_THAT(List("**/c.txt"), ElementsAre("d/e/c.txt"));
  EXPECT_THAT(List("d/_tmp/*"), ElementsAre("d/_tmp/x.txt"));
  EXPECT_THAT(List("d/_*"), ElementsAre("d/_SUCCESS", "d/_tmp/x.txt"));
  EXPECT_THAT(List("d/?.t[xy]t"), ElementsAre("d/a.txt", "d/b.txt"));
}

TEST_F(LocalFileSystemTest, BracesAndOddNames) {
  for (const char* name :
       {"s-00.tar", "s-01.tar", "s-02.tar", "a[1].txt", "two words.txt", "k{1}"}) {
    Write(name);
  }
  EXPECT_THAT(List("s-{00..02}.tar"), ElementsAre("s-00.tar", "s-01.tar", "s-02.tar"));
  EXPECT_THAT(List("{s-0[01],two}*"), ElementsAre("s-00.tar", "s-01.tar", "two words.txt"));
  EXPECT_THAT(List("a[1].txt"), ElementsAre("a[1].txt"));
  EXPECT_THAT(List("k{1}"), ElementsAre("k{1}"));
  // One that is spelled out and missing is no silent gap.
  EXPECT_THAT(List("s-{00..03}.tar"), ElementsAre(HasSubstr("'s-03.tar' in it does not")));
}

TEST_F(LocalFileSystemTest, NoMatchSaysWhichPartIsMissing) {
  Write("d/_only");
  EXPECT_THAT(List("d/*.jpg"),
              ElementsAre(AllOf(HasSubstr("no file matches"), HasSubstr("ignored"))));
  EXPECT_THAT(List("dd/*.jpg"),
              ElementsAre(AllOf(HasSubstr(root_ + "' exists, 'dd' in it does not"))));
  EXPECT_EQ(files_->List(At("d/none")).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(files_->List("s3://bucket/x").status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(LocalFileSystemTest, ADirectoryWithoutPermissionIsAnErrorNotAShorterList) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to look with another user's rights";
  Write("d/a/1");
  Write("d/b/2");
  chmod(At("d/b").c_str(), 0700);
  const AsNobody nobody;
  const auto listed = files_->List(At("d"));
  EXPECT_EQ(listed.status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(listed.status().message()),
              AllOf(HasSubstr(At("d/b")), HasSubstr("permission")));
}

TEST_F(LocalFileSystemTest, AFileWithoutPermissionNamesItself) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to look with another user's rights";
  Write("a");
  chmod(At("a").c_str(), 0600);
  const AsNobody nobody;
  const auto opened = files_->Open(At("a"));
  EXPECT_EQ(opened.status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(opened.status().message()), HasSubstr(At("a")));
}

TEST_F(LocalFileSystemTest, LinksAreFollowedOnceAndDeadOnesAreErrors) {
  Write("data/a");
  fs::create_directory(At("d"));
  fs::create_symlink(At("data"), At("d/linked"));
  fs::create_directory_symlink(At("d"), At("d/loop"));
  EXPECT_THAT(List("d"), ElementsAre("d/linked/a"));
  EXPECT_THAT(List("d/**/a"), ElementsAre("d/linked/a"));
  fs::create_symlink(At("gone"), At("d/dead"));
  EXPECT_THAT(List("d"), ElementsAre(HasSubstr("link to a file that is not there")));
}

TEST_F(LocalFileSystemTest, RootsConfineAfterLinksAreResolved) {
  Write("in/a");
  Write("inside/a");
  Write("out/secret");
  fs::create_symlink(At("out/secret"), At("in/sneaky"));
  files_ = NewLocalFileSystem({At("in")});
  EXPECT_TRUE(files_->Open(At("in/a")).ok());
  EXPECT_THAT(List("in/a"), ElementsAre("in/a"));
  for (const char* path : {"in/sneaky", "in/../out/secret", "out/secret", "inside/a"}) {
    EXPECT_EQ(files_->Open(At(path)).status().code(), absl::StatusCode::kPermissionDenied) << path;
  }
  for (const char* pattern : {"in", "in/*", "out", "in/../out/*", "inside/a"}) {
    const auto listed = files_->List(At(pattern));
    EXPECT_EQ(listed.status().code(), absl::StatusCode::kPermissionDenied) << pattern;
  }
}

TEST_F(LocalFileSystemTest, AChangedOrGoneFileIsRefused) {
  Write("a", "12345");
  const FileInfo listed = files_->List(At("a"))->front();
  EXPECT_TRUE(OpenUnchanged(*files_, listed).ok());

  FileInfo older = listed;
  older.mtime_ns -= 1;
  EXPECT_EQ(OpenUnchanged(*files_, older).status().code(), absl::StatusCode::kFailedPrecondition);
  Write("a", "123456");
  const auto grown = OpenUnchanged(*files_, listed);
  EXPECT_EQ(grown.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(grown.status().message()),
              AllOf(HasSubstr(At("a")), HasSubstr("6 bytes now")));
  fs::remove(At("a"));
  EXPECT_EQ(OpenUnchanged(*files_, listed).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(LocalFileSystemTest, PipesAndDirectoriesAreNotOpened) {
  ASSERT_EQ(mkfifo(At("pipe").c_str(), 0600), 0);
  EXPECT_EQ(files_->Open(At("pipe")).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(files_->Open(root_).status().code(), absl::StatusCode::kInvalidArgument);
  Write("a");
  EXPECT_THAT(List("*"), ElementsAre("a"));
}

}  // namespace
}  // namespace headrace
