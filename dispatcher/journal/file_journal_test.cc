// The driver `file`: what was acknowledged survives; what stands in the way is said.
#include "dispatcher/journal/file_journal.h"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "dispatcher/journal/open_journal.h"
#include "rocksdb/db.h"

namespace headrace {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

v1::Event EventOf(uint64_t number, size_t bytes = 20) {
  v1::Event event;
  event.set_at_unix_ms(static_cast<int64_t>(number));
  event.mutable_job_ended()->set_message(std::string(bytes, 'x'));
  return event;
}

class FileJournalTest : public testing::Test {
 protected:
  FileJournalTest() {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    directory_ = fs::path(testing::TempDir()) /
                 fmt::format("journal_{}_{}", info->name(), static_cast<long>(getpid()));
    fs::remove_all(directory_);
  }
  ~FileJournalTest() override { fs::remove_all(directory_); }

  absl::StatusOr<std::unique_ptr<FileJournal>> Open() {
    return FileJournal::Open({directory_.string(), MiB(1)}, journal_metrics_);
  }
  // Opens and replays; `chunks_` and `events_` are what came.
  std::unique_ptr<FileJournal> Opened() {
    chunks_.clear();
    events_.clear();
    auto journal = Open();
    EXPECT_TRUE(journal.ok()) << journal.status();
    if (!journal.ok()) return nullptr;
    const absl::Status status = (*journal)->Replay({[this](std::string_view chunk) {
                                                      chunks_.emplace_back(chunk);
                                                      return absl::OkStatus();
                                                    },
                                                    [this](const v1::Event& event) {
                                                      events_.push_back(event.at_unix_ms());
                                                      return absl::OkStatus();
                                                    }});
    EXPECT_TRUE(status.ok()) << status;
    return *std::move(journal);
  }
  static absl::Status Add(FileJournal& journal, uint64_t first, uint64_t count, size_t bytes = 20) {
    std::vector<v1::Event> events;
    for (uint64_t i = first; i < first + count; ++i) events.push_back(EventOf(i, bytes));
    return journal.WaitDurable(journal.Append(std::move(events)));
  }
  static absl::Status Snapshot(FileJournal& journal, std::vector<std::string> chunks) {
    size_t next = 0;
    return journal.Compact(journal.Append({}), [&](std::string& chunk) {
      if (next == chunks.size()) return false;
      chunk = chunks[next++];
      return true;
    });
  }
  std::vector<int64_t> Numbers(int64_t first, int64_t last) {
    std::vector<int64_t> numbers;
    for (int64_t i = first; i <= last; ++i) numbers.push_back(i);
    return numbers;
  }

  fs::path directory_;
  Metrics metrics_{"dispatcher"};
  JournalMetrics journal_metrics_{metrics_};
  std::vector<std::string> chunks_;
  std::vector<int64_t> events_;
};

TEST_F(FileJournalTest, WhatWasAppendedIsThereAgain) {
  for (int64_t life = 0; life < 3; ++life) {
    auto journal = Opened();
    ASSERT_NE(journal, nullptr);
    EXPECT_EQ(events_, Numbers(0, life * 10 - 1));
    EXPECT_EQ(journal->Append({}), static_cast<uint64_t>(life * 10));
    ASSERT_TRUE(Add(*journal, static_cast<uint64_t>(life * 10), 10).ok());
  }
  EXPECT_EQ(journal_metrics_.events->value(), 30);
  EXPECT_GT(journal_metrics_.bytes->value(), 600);
}

TEST_F(FileJournalTest, EventsThatNobodyWaitedForAreCommittedWhenItCloses) {
  Opened()->Append({EventOf(0), EventOf(1)});
  Opened();
  EXPECT_EQ(events_, Numbers(0, 1));
}

TEST_F(FileJournalTest, ASnapshotTakesThePlaceOfTheEventsBeforeIt) {
  {
    auto journal = Opened();
    ASSERT_TRUE(Add(*journal, 0, 5).ok());
    ASSERT_TRUE(Snapshot(*journal, {"a", "b"}).ok());
    ASSERT_TRUE(Add(*journal, 5, 2).ok());
  }
  {
    auto journal = Opened();
    EXPECT_EQ(chunks_, std::vector<std::string>({"a", "b"}));
    EXPECT_EQ(events_, Numbers(5, 6));
    ASSERT_TRUE(Snapshot(*journal, std::vector<std::string>(300, "c")).ok());
    ASSERT_TRUE(Snapshot(*journal, {"d"}).ok());
  }
  auto journal = Opened();
  EXPECT_EQ(chunks_, std::vector<std::string>({"d"}));
  EXPECT_TRUE(events_.empty());
  EXPECT_EQ(journal->Append({}), 7u);
}

TEST_F(FileJournalTest, GrowthAsksForASnapshotAndTheDiskDoesNotGrowForEver) {
  auto journal = Opened();
  uint64_t snapshots = 0;
  for (uint64_t i = 0; i < 600; ++i) {
    ASSERT_TRUE(Add(*journal, i, 1, 50'000).ok());
    if (!journal->WantsCompaction()) continue;
    ++snapshots;
    ASSERT_TRUE(Snapshot(*journal, {std::string(100'000, 's')}).ok());
    EXPECT_FALSE(journal->WantsCompaction());
  }
  EXPECT_GE(snapshots, 25u);
  EXPECT_LE(snapshots, 30u);
  journal = nullptr;
  journal = Opened();
  EXPECT_LT(events_.size(), 25u);
}

TEST_F(FileJournalTest, ManyThreadsShareWrites) {
  auto journal = Opened();
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 16; ++t) {
    threads.emplace_back([&journal, t] {
      for (uint64_t i = 0; i < 50; ++i) EXPECT_TRUE(Add(*journal, t, 1).ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto counts = journal_metrics_.fsync->Counts();
  uint64_t writes = 0;
  for (const uint64_t count : counts) writes += count;
  EXPECT_LT(writes, 800u);
  journal = nullptr;
  Opened();
  EXPECT_EQ(events_.size(), 800u);
}

TEST_F(FileJournalTest, ADirectoryThatIsTakenIsRefusedAndFreeLater) {
  auto journal = Opened();
  const absl::Status taken = Open().status();
  EXPECT_EQ(taken.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(taken.ToString(), HasSubstr("another dispatcher has it"));
  EXPECT_THAT(taken.ToString(), HasSubstr(directory_.string()));
  journal = nullptr;
  EXPECT_TRUE(Open().ok());
}

TEST_F(FileJournalTest, ADirectoryThatCannotBeMadeNamesItAndTheKey) {
  fs::create_directories(directory_.parent_path());
  std::ofstream(directory_) << "a file";
  const absl::Status status = Open().status();
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(status.ToString(), HasSubstr(directory_.string()));
  EXPECT_THAT(status.ToString(), HasSubstr("journal.directory"));
}

TEST_F(FileJournalTest, AJournalOfANewerVersionIsRefused) {
  Opened();
  {
    rocksdb::DB* db = nullptr;
    ASSERT_TRUE(rocksdb::DB::Open({}, (directory_ / "store").string(), &db).ok());
    v1::JournalMeta meta;
    meta.set_format(FileJournal::kFormat + 1);
    ASSERT_TRUE(db->Put({}, "m", meta.SerializeAsString()).ok());
    delete db;
  }
  const absl::Status status = Open().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.ToString(), HasSubstr("a newer version of Headrace"));
  EXPECT_THAT(status.ToString(), HasSubstr(directory_.string()));
}

// Writes fail from here on, as on a disk without room. For as long as it lives.
class FullDisk {
 public:
  explicit FullDisk(rlim_t most) {
    std::signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    rlimit limit = before_;
    limit.rlim_cur = most;
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FullDisk() { setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_{};
};

TEST_F(FileJournalTest, AWriteThatFailsIsForGoodAndWhatWasAcknowledgedIsThere) {
  uint64_t acknowledged = 0;
  {
    auto journal = Opened();
    absl::Status status;
    {
      const FullDisk full(100'000);
      while (status.ok() && acknowledged < 1000) {
        status = Add(*journal, acknowledged, 1, 1000);
        if (status.ok()) ++acknowledged;
      }
    }
    EXPECT_FALSE(status.ok());
    EXPECT_THAT(status.ToString(), HasSubstr(directory_.string()));
    // There is room again, but it has failed.
    EXPECT_FALSE(Add(*journal, 0, 1).ok());
    EXPECT_TRUE(journal->WaitDurable(acknowledged).ok());
  }
  EXPECT_GT(acknowledged, 10u);
  Opened();
  ASSERT_GE(events_.size(), acknowledged);
  EXPECT_LE(events_.size(), acknowledged + 1);  // the one that failed may be there
}

TEST_F(FileJournalTest, ASnapshotThatFailsLeavesTheOldOne) {
  {
    auto journal = Opened();
    ASSERT_TRUE(Add(*journal, 0, 3).ok());
    ASSERT_TRUE(Snapshot(*journal, {"a"}).ok());
    ASSERT_TRUE(Add(*journal, 3, 3).ok());
    const FullDisk full(100'000);
    EXPECT_FALSE(Snapshot(*journal, {std::string(400'000, 'b')}).ok());
  }
  auto journal = Opened();
  EXPECT_EQ(chunks_, std::vector<std::string>({"a"}));
  EXPECT_EQ(events_, Numbers(3, 5));
  EXPECT_TRUE(Snapshot(*journal, {"b"}).ok());
}

TEST_F(FileJournalTest, TheConfigChoosesTheDriver) {
  JournalConfig config;
  config.driver = "memory";
  EXPECT_TRUE(OpenJournal(config, journal_metrics_).ok());
  EXPECT_FALSE(fs::exists(directory_));
  config.driver = "file";
  config.directory = (directory_ / "deep" / "er").string();
  EXPECT_TRUE(OpenJournal(config, journal_metrics_).ok());
  EXPECT_TRUE(fs::exists(directory_ / "deep" / "er"));
}

}  // namespace
}  // namespace headrace
