// Crashes, damage and full disks.
#include "cache/disk_tier.h"

#include <unistd.h>

#include <fstream>
#include <functional>

#include "cache/segment_format.h"
#include "cache/test_splits.h"
#include "common/fault_points.h"
#include "common/status.h"
#include "gtest/gtest.h"

namespace headrace::cache_test {
namespace {

class DiskTierTest : public testing::Test {
 protected:
  DiskTierTest() { Open(); }

  void Open(uint64_t bytes = uint64_t{1} << 20) {
    tier_.reset();
    DiskTier::Options options;
    options.path = directory_.path();
    options.bytes = bytes;
    options.chunk_bytes = 8192;
    auto tier = DiskTier::Open(options, prefixes_, clock_);
    ASSERT_TRUE(tier.ok()) << tier.status();
    tier_ = *std::move(tier);
  }
  void Settle() { EXPECT_TRUE(tier_->Flush(absl::Now() + absl::Seconds(20))); }
  bool FillAndSettle(uint64_t split, const SplitShape& shape = {}) {
    const bool filled = Fill(*tier_, KeyOf(split), shape);
    Settle();
    return filled && tier_->Holds(KeyOf(split));
  }
  uint64_t dropped(CacheDrop reason) const { return tier_->counters().dropped(reason); }
  uint64_t fills_dropped(FillDrop reason) const { return tier_->counters().fill_dropped(reason); }
  std::filesystem::path OnlyFile() const {
    const auto files = FilesIn(tier_->directory());
    EXPECT_EQ(files.size(), 1u);
    return files.empty() ? std::filesystem::path() : files[0];
  }
  uint64_t BytesOnDisk() const {
    uint64_t bytes = 0;
    for (const char* extension : {".hrseg", ".tmp"}) {
      for (const auto& file : FilesIn(tier_->directory(), extension))
        bytes += std::filesystem::file_size(file);
    }
    return bytes;
  }

  TemporaryDirectory directory_;
  FakeClock clock_;
  std::shared_ptr<PrefixUse> prefixes_ = std::make_shared<PrefixUse>(clock_);
  std::unique_ptr<DiskTier> tier_;
};

void Change(const std::filesystem::path& path, const std::function<void(std::string&)>& change) {
  std::ifstream in(path, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  in.close();
  change(bytes);
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

TEST_F(DiskTierTest, WhatWasCommittedIsFoundAfterARestart) {
  for (uint64_t i = 0; i < 5; ++i) ASSERT_TRUE(FillAndSettle(i));
  const uint64_t bytes = tier_->use().bytes;
  EXPECT_EQ(bytes, BytesOnDisk());
  Open();
  EXPECT_EQ(tier_->use().entries, 5u);
  EXPECT_EQ(tier_->use().bytes, bytes);
  for (uint64_t i = 0; i < 5; ++i) EXPECT_TRUE(ReadsBack(*tier_, KeyOf(i)));
  ASSERT_TRUE(FillAndSettle(9)) << "names of new files do not collide with old ones";
}

TEST_F(DiskTierTest, ASmallerBudgetKeepsTheNewest) {
  for (uint64_t i = 0; i < 5; ++i) {
    ASSERT_TRUE(FillAndSettle(i));
    std::filesystem::last_write_time(FilesIn(tier_->directory()).back(),
                                     std::filesystem::file_time_type::clock::now());
  }
  const uint64_t one = tier_->use().bytes / 5;
  Open(2 * one + 100);
  EXPECT_EQ(tier_->use().entries, 2u);
  EXPECT_LE(BytesOnDisk(), 2 * one + 100);
  EXPECT_EQ(dropped(CacheDrop::kEvicted), 3u);
}

TEST_F(DiskTierTest, TwoWorkersOnOnePathHaveFoldersOfTheirOwn) {
  ASSERT_TRUE(FillAndSettle(1));
  std::unique_ptr<DiskTier> first = std::move(tier_);
  Open();
  EXPECT_NE(first->directory(), tier_->directory());
  EXPECT_EQ(tier_->Find(KeyOf(1)), nullptr);
  EXPECT_TRUE(ReadsBack(*first, KeyOf(1)));
}

TEST_F(DiskTierTest, EveryFlippedByteIsSeenAndNothingWrongIsServed) {
  const SplitShape shape{.frames = 4, .frame_bytes = 3000};
  ASSERT_TRUE(FillAndSettle(1, shape));
  const uint64_t size = std::filesystem::file_size(OnlyFile());
  uint64_t seen = 0, tried = 0;
  for (uint64_t at = 0; at < size; at += 191) {
    Open();
    if (!tier_->Holds(KeyOf(1))) {
      ASSERT_TRUE(FillAndSettle(1, shape));
    }
    Change(OnlyFile(), [at](std::string& bytes) { bytes[at] = static_cast<char>(bytes[at] ^ 4); });
    ++tried;
    // Padding may be what it likes; ReadsBack fails the test on any wrong byte.
    if (!ReadsBack(*tier_, KeyOf(1), shape)) ++seen;
  }
  EXPECT_GT(seen, tried / 2);
}

TEST_F(DiskTierTest, ASegmentCutAtAnyPlaceIsDroppedAtStartUp) {
  const SplitShape shape{.frames = 4, .frame_bytes = 3000};
  for (uint64_t cut : {0u, 1u, 100u, 4096u, 5000u, 8192u, 12288u, 16384u}) {
    ASSERT_TRUE(FillAndSettle(1, shape));
    const auto file = OnlyFile();
    if (cut >= std::filesystem::file_size(file)) continue;
    std::filesystem::resize_file(file, cut);
    Open();
    EXPECT_EQ(tier_->Find(KeyOf(1)), nullptr) << cut;
    EXPECT_EQ(dropped(CacheDrop::kTorn), 1u) << cut;
    EXPECT_EQ(BytesOnDisk(), 0u) << cut;
  }
}

TEST_F(DiskTierTest, DamageUnderARunningWorkerIsSeenWhenItIsRead) {
  const SplitShape shape{.frames = 12, .frame_bytes = 4000};
  ASSERT_TRUE(FillAndSettle(1, shape));
  Change(OnlyFile(), [](std::string& bytes) { bytes[bytes.size() / 2] ^= 1; });
  std::unique_ptr<CachedSplit> split = tier_->Find(KeyOf(1));
  ASSERT_NE(split, nullptr) << "header and footer are right";
  EXPECT_TRUE(absl::IsDataLoss(ReadAll(*split, KeyOf(1), shape)));
  EXPECT_EQ(dropped(CacheDrop::kDamaged), 1u);
  EXPECT_EQ(tier_->Find(KeyOf(1)), nullptr);
  split.reset();
  EXPECT_EQ(BytesOnDisk(), 0u);
  EXPECT_EQ(tier_->use().bytes, 0u);
  EXPECT_TRUE(FillAndSettle(1, shape)) << "it is made again";
}

TEST_F(DiskTierTest, AFileThatIsGoneIsAMiss) {
  ASSERT_TRUE(FillAndSettle(1));
  std::filesystem::remove(OnlyFile());
  EXPECT_EQ(tier_->Find(KeyOf(1)), nullptr);
  EXPECT_EQ(tier_->use().bytes, 0u);
}

TEST_F(DiskTierTest, OtherVersionsForeignAndUnfinishedFilesGoAndStrangersStay) {
  for (uint64_t i = 0; i < 3; ++i) ASSERT_TRUE(FillAndSettle(i));
  const auto files = FilesIn(tier_->directory());
  Change(files[0], [](std::string& bytes) { bytes[8] = 9; });
  std::filesystem::copy_file(files[1], tier_->directory() + "/" + SegmentFileName(KeyOf(8), 77));
  std::filesystem::copy_file(files[1], files[1].string() + ".tmp");
  std::ofstream(tier_->directory() + "/notes.txt") << "mine";
  std::ofstream(tier_->directory() + "/x.hrseg") << "mine";
  Open();
  EXPECT_EQ(dropped(CacheDrop::kVersion), 1u);
  EXPECT_EQ(dropped(CacheDrop::kForeign), 1u);
  EXPECT_EQ(dropped(CacheDrop::kTorn), 1u);
  EXPECT_EQ(tier_->use().entries, 2u);
  EXPECT_EQ(tier_->Find(KeyOf(8)), nullptr);
  EXPECT_TRUE(std::filesystem::exists(tier_->directory() + "/notes.txt"));
  EXPECT_TRUE(std::filesystem::exists(tier_->directory() + "/x.hrseg"));
}

TEST_F(DiskTierTest, AFullDiskDropsTheFillAndTriesAgainLater) {
  {
    ScopedFault full("cache.segment.write", FailWith(ResourceExhausted("no space")), {.first = 2});
    EXPECT_FALSE(FillAndSettle(1, {.frames = 9, .frame_bytes = 5000}));
  }
  EXPECT_EQ(fills_dropped(FillDrop::kDiskFull), 1u);
  EXPECT_EQ(BytesOnDisk(), 0u);
  EXPECT_EQ(tier_->use().bytes, 0u);
  EXPECT_FALSE(tier_->Begin(KeyOf(1), nullptr).ok()) << "not at once again";
  clock_.Advance(SegmentShelf::kFullPause + absl::Seconds(1));
  EXPECT_TRUE(FillAndSettle(1));
}

TEST_F(DiskTierTest, ADeviceErrorDropsTheFillOnly) {
  for (const char* point : {"cache.segment.create", "cache.segment.write", "cache.segment.sync",
                            "cache.segment.commit"}) {
    ScopedFault fault(point, FailWith(Unavailable("input/output error")), {.times = 1});
    EXPECT_FALSE(FillAndSettle(1)) << point;
    EXPECT_EQ(BytesOnDisk(), 0u) << point;
    EXPECT_EQ(tier_->use().bytes, 0u) << point;
  }
  EXPECT_EQ(fills_dropped(FillDrop::kError), 4u);
  EXPECT_TRUE(FillAndSettle(1));
  ScopedFault fault("cache.segment.read", FailWith(Unavailable("input/output error")),
                    {.times = 1});
  EXPECT_EQ(tier_->Find(KeyOf(1)), nullptr);
  EXPECT_EQ(dropped(CacheDrop::kUnreadable), 1u);
}

TEST_F(DiskTierTest, ADiskThatDoesNotKeepUpLosesFillsNotRecords) {
  ScopedFault slow("cache.segment.write", Delay(absl::Milliseconds(50)), {.times = 3});
  DiskTier::Options options;
  options.path = directory_.path();
  options.bytes = 1 << 20;
  options.chunk_bytes = 8192;
  options.pending_bytes = 16384;
  tier_.reset();
  tier_ = DiskTier::Open(options, prefixes_, clock_).value();
  EXPECT_FALSE(Fill(*tier_, KeyOf(1), {.frames = 40, .frame_bytes = 8000}));
  Settle();
  EXPECT_EQ(fills_dropped(FillDrop::kSlow), 1u);
  EXPECT_EQ(tier_->use().bytes, 0u);
  EXPECT_TRUE(FillAndSettle(1, {.frames = 1, .frame_bytes = 8000}));
}

TEST_F(DiskTierTest, APathThatCannotBeWrittenNamesItsKey) {
  const std::string file = directory_.path() + "/file";
  std::ofstream(file) << "x";
  DiskTier::Options options;
  options.path = file;
  options.bytes = 1 << 20;
  const auto tier = DiskTier::Open(options, prefixes_, clock_);
  EXPECT_TRUE(absl::IsInvalidArgument(tier.status()));
  EXPECT_NE(tier.status().message().find("cache.disk.path"), std::string_view::npos);
}

}  // namespace
}  // namespace headrace::cache_test
