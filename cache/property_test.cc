// Random orders of fills, reads, evictions, changed files, damage, full disks and crashes, from one
// seed: the budgets are never exceeded, on the books and on the disk, and never is a stale or
// damaged byte served.
#include <fstream>
#include <random>

#include "cache/test_splits.h"
#include "cache/tiered_cache.h"
#include "common/fault_points.h"
#include "common/status.h"
#include "gtest/gtest.h"

namespace headrace::cache_test {
namespace {

constexpr uint64_t kMemoryBytes = 150'000;
constexpr uint64_t kDiskBytes = 300'000;
constexpr uint64_t kSplits = 12;
constexpr uint64_t kPrefixes = 3;

class World {
 public:
  explicit World(uint64_t seed) : random_(seed) { Restart(); }

  void Step() {
    const uint64_t prefix = Below(kPrefixes);
    const uint64_t split = Below(kSplits);
    switch (Below(20)) {
      case 0:
        ++versions_[split];  // its file has changed
        break;
      case 1:
        uses_.push_back(prefixes_->Acquire(Hex(prefix)));
        if (uses_.size() > 2) uses_.erase(uses_.begin());
        break;
      case 2:
        clock_.Advance(absl::Seconds(Below(90)));
        break;
      case 3:
        Damage();
        break;
      case 4:
        if (Below(3) == 0) Crash();
        break;
      case 5:
        open_.clear();  // fills that end without a commit, readers that stop
        reading_.clear();
        break;
      case 6:
        FillOne(prefix, split, /*fault=*/true);
        break;
      case 7:
      case 8:
        Interleave(prefix, split);
        break;
      case 9:
      case 10:
      case 11:
      case 12:
        FillOne(prefix, split, false);
        break;
      default:
        ReadOne(prefix, split);
    }
    CheckBudgets();
  }

  uint64_t served() const { return served_; }
  uint64_t weighed() const { return weighed_; }

 private:
  // Half read, half written: held over other steps.
  struct OpenFill {
    CacheKey key;
    std::unique_ptr<CacheFill> fill;
  };
  struct OpenRead {
    CacheKey key;
    SplitShape shape;
    std::unique_ptr<CachedSplit> split;
  };

  uint64_t Below(uint64_t n) { return random_() % n; }
  CacheKey Key(uint64_t prefix, uint64_t split) {
    return KeyOf(split, 1 + versions_[split], prefix);
  }
  // A function of the split and its version, as its rows are.
  SplitShape ShapeOf(uint64_t split) const {
    const uint64_t n = split * 31 + versions_.at(split) * 17;
    return {.frames = 1 + n % 9, .frame_bytes = 500 + n % 7 * 3000};
  }

  void Restart() {
    std::vector<std::unique_ptr<CacheTier>> tiers;
    tiers.push_back(std::make_unique<MemoryTier>(kMemoryBytes, prefixes_));
    DiskTier::Options options;
    options.path = directory_.path();
    options.bytes = kDiskBytes;
    options.chunk_bytes = 8192;
    options.direct = Below(2) == 0;
    auto disk = DiskTier::Open(options, prefixes_, clock_);
    ASSERT_TRUE(disk.ok()) << disk.status();
    disk_ = disk->get();
    tiers.push_back(*std::move(disk));
    cache_ = std::make_unique<TieredCache>(std::move(tiers), prefixes_);
  }

  // The process is killed: what a segment had so far stays, under its temporary name or cut off.
  void Crash() {
    open_.clear();
    reading_.clear();
    disk_->Flush(absl::Now() + absl::Seconds(20));
    const std::string folder = disk_->directory();
    cache_.reset();
    for (const auto& file : FilesIn(folder)) {
      if (Below(6) != 0) continue;
      std::filesystem::resize_file(file, Below(std::filesystem::file_size(file)));
      if (Below(2) == 0) std::filesystem::rename(file, file.string() + ".tmp");
    }
    Restart();
  }

  void Damage() {
    disk_->Flush(absl::Now() + absl::Seconds(20));
    const auto files = FilesIn(disk_->directory());
    if (files.empty()) return;
    const auto& file = files[Below(files.size())];
    const uint64_t at = Below(std::filesystem::file_size(file));
    std::fstream stream(file, std::ios::binary | std::ios::in | std::ios::out);
    stream.seekg(static_cast<std::streamoff>(at));
    const char byte = static_cast<char>(stream.get());
    stream.seekp(static_cast<std::streamoff>(at));
    stream.put(static_cast<char>(byte ^ (1 << Below(8))));
  }

  void FillOne(uint64_t prefix, uint64_t split, bool fault) {
    std::optional<ScopedFault> broken;
    if (fault) {
      const absl::Status error = Below(2) == 0 ? ResourceExhausted("full") : Unavailable("error");
      const char* points[] = {"cache.segment.create", "cache.segment.write", "cache.segment.sync",
                              "cache.segment.commit"};
      broken.emplace(points[Below(4)], FailWith(error),
                     FaultWindow{.first = static_cast<int64_t>(1 + Below(3)), .times = 2});
    }
    const CacheKey key = Key(prefix, split);
    auto fill = cache_->Begin(key);
    if (fill != nullptr && AppendAll(*fill, key, ShapeOf(split)) && Below(8) != 0) fill->Commit();
    fill.reset();
    if (fault) disk_->Flush(absl::Now() + absl::Seconds(20));
  }

  void ReadOne(uint64_t prefix, uint64_t split) {
    const CacheKey key = Key(prefix, split);
    const auto found = cache_->Find(key);
    if (found != nullptr && ReadAll(*found, key, ShapeOf(split)).ok()) ++served_;
  }

  void Interleave(uint64_t prefix, uint64_t split) {
    const CacheKey key = Key(prefix, split);
    if (Below(2) == 0) {
      if (auto found = cache_->Find(key)) {
        reading_.push_back({key, ShapeOf(split), std::move(found)});
      }
      if (reading_.size() > 3) {
        OpenRead& read = reading_.front();
        (void)ReadAll(*read.split, read.key, read.shape);
        reading_.erase(reading_.begin());
      }
      return;
    }
    if (auto fill = cache_->Begin(key)) {
      (void)AppendAll(*fill, key, {.frames = 1 + Below(4), .frame_bytes = 2000});
      open_.push_back({key, std::move(fill)});  // never committed
    }
    if (open_.size() > 2) open_.erase(open_.begin());
  }

  std::map<std::string, uint64_t> Listing() const {
    std::map<std::string, uint64_t> sizes;
    for (const char* extension : {".hrseg", ".tmp"}) {
      for (const auto& file : FilesIn(disk_->directory(), extension)) {
        std::error_code gone;
        const uint64_t size = std::filesystem::file_size(file, gone);
        if (!gone) sizes[std::filesystem::path(file).filename().string()] = size;
      }
    }
    return sizes;
  }

  void CheckBudgets() {
    for (const auto& tier : cache_->tiers()) ASSERT_LE(tier->use().bytes, tier->use().limit);
    // The writer's thread goes on meanwhile: a listing that came out twice is one of a moment.
    const std::map<std::string, uint64_t> files = Listing();
    if (files != Listing()) return;
    ++weighed_;
    uint64_t bytes = 0;
    for (const auto& [name, size] : files) bytes += size;
    ASSERT_LE(bytes, kDiskBytes);
  }

  std::mt19937_64 random_;
  TemporaryDirectory directory_;
  FakeClock clock_;
  std::shared_ptr<PrefixUse> prefixes_ = std::make_shared<PrefixUse>(clock_);
  std::map<uint64_t, uint64_t> versions_ = [] {
    std::map<uint64_t, uint64_t> out;
    for (uint64_t i = 0; i < kSplits; ++i) out[i] = 0;
    return out;
  }();
  std::vector<std::shared_ptr<void>> uses_;
  DiskTier* disk_ = nullptr;
  std::unique_ptr<TieredCache> cache_;
  std::vector<OpenFill> open_;  // before the cache goes
  std::vector<OpenRead> reading_;
  uint64_t served_ = 0;
  uint64_t weighed_ = 0;  // times that the files' bytes were summed up
};

TEST(CachePropertyTest, BudgetsHoldAndNothingStaleOrDamagedIsServedInAnyOrderOfEvents) {
  uint64_t served = 0, weighed = 0;
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    World world(seed);
    for (int step = 0; step < 400; ++step) {
      world.Step();
      if (testing::Test::HasFatalFailure() || testing::Test::HasNonfatalFailure()) return;
    }
    served += world.served();
    weighed += world.weighed();
  }
  EXPECT_GT(served, 100u) << "the test must see hits to mean something";
  EXPECT_GT(weighed, 100u) << "and files at rest";
}

}  // namespace
}  // namespace headrace::cache_test
