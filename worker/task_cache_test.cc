// Which splits may come from a cache, and which are kept.
#include "worker/task_cache.h"

#include <algorithm>
#include <set>

#include "cache/memory_tier.h"
#include "common/fake_clock.h"
#include "common/status.h"
#include "gtest/gtest.h"
#include "pipeline/graph/op_registry.h"
#include "pipeline/sources/memory_file_system.h"

namespace headrace {
namespace {

v1::Step StepOf(const std::string& op,
                const std::vector<std::pair<std::string, v1::Value>>& params) {
  v1::Step step;
  step.set_op(op);
  for (const auto& [name, value] : params) {
    v1::NamedValue* entry = step.mutable_params()->add_entries();
    entry->set_name(name);
    *entry->mutable_value() = value;
  }
  return step;
}

class TaskCacheTest : public testing::Test {
 protected:
  TaskCacheTest() {
    RegisterAll_ops(ops_);
    std::vector<std::unique_ptr<CacheTier>> tiers;
    tiers.push_back(std::make_unique<MemoryTier>(1 << 20, prefixes_));
    cache_ = std::make_unique<TieredCache>(std::move(tiers), prefixes_);
    held_ = std::make_unique<HeldSplits>(*cache_);
    files_->Put("/d/a", "first");
  }

  std::shared_ptr<TaskCache> Make(const std::vector<v1::Step>& steps, uint64_t epoch = 0) {
    v1::PipelineDef def;
    for (const v1::Step& step : steps) *def.add_steps() = step;
    const auto graph = Graph::Build(def, *schema_, ops_);
    EXPECT_TRUE(graph.ok()) << graph.status();
    return TaskCache::Make({*cache_, *held_, clock_, files_, share_}, *graph, epoch,
                           dataset_version_);
  }
  std::shared_ptr<TaskCache> Plain() { return Make({StepOf("cache", {})}); }

  v1::Split SplitNow(uint64_t id = 3) const {
    const FileInfo info = files_->Info("/d/a");
    v1::Split split;
    split.set_id(id);
    split.set_path(info.path);
    split.set_end(info.size);
    split.set_file_size(info.size);
    split.set_file_mtime_ns(info.mtime_ns);
    return split;
  }
  // Records [first, first + count), of which the even ones have a row.
  Block Rows(uint64_t first, uint64_t count, uint64_t split = 3) const {
    Block block(schema_);
    for (uint64_t i = first; i < first + count; ++i) {
      if (i % 2 == 1) continue;
      const Cell cells[] = {MakeScalarCell<int64_t>(block.arena(), static_cast<int64_t>(i))};
      block.AppendRow({headrace::Run{.split = split, .first = i, .count = 1}}, cells);
    }
    return block;
  }
  void Keep(TaskCache& cache, const v1::Split& split) {
    const auto fill = cache.Fill(split, 0);
    ASSERT_NE(fill, nullptr);
    fill->Deposit(4, 3, Rows(4, 3));  // out of order, as threads end
    fill->ReadToEnd(10);
    fill->Deposit(7, 3, Rows(7, 3));
    fill->Deposit(0, 4, Rows(0, 4));
  }

  OpRegistry ops_;
  SchemaPtr schema_ = std::make_shared<const Schema>(Schema({{"x", DType::kInt64, Shape()}}));
  FakeClock clock_;
  std::shared_ptr<PrefixUse> prefixes_ = std::make_shared<PrefixUse>(clock_);
  std::unique_ptr<TieredCache> cache_;
  std::unique_ptr<HeldSplits> held_;
  std::string dataset_version_ = "v";
  double share_ = 1;
  std::shared_ptr<MemoryFileSystem> files_ = std::make_shared<MemoryFileSystem>();
};

TEST_F(TaskCacheTest, RowsComeBackInOrderUnderTheSplitsPresentNumber) {
  Keep(*Plain(), SplitNow(3));
  const auto rows = Plain()->Open(SplitNow(8), 0);  // the file is split 8 of another job
  ASSERT_NE(rows, nullptr);
  std::vector<uint64_t> records, settled;
  while (auto block = rows->Next().value()) {
    for (size_t row = 0; row < block->rows(); ++row) {
      const headrace::Run& run = block->provenance(row).front();
      EXPECT_EQ(run.split, 8u);
      EXPECT_EQ(block->column(0)[row].as<int64_t>()[0], static_cast<int64_t>(run.first));
      records.push_back(run.first);
    }
    for (const headrace::Run& run : block->settled()) {
      for (uint64_t i = 0; i < run.count; ++i) settled.push_back(run.first + i);
    }
  }
  EXPECT_EQ(records, (std::vector<uint64_t>{0, 2, 4, 6, 8}));
  EXPECT_EQ(settled, (std::vector<uint64_t>{1, 3, 5, 7, 9}));
}

TEST_F(TaskCacheTest, WhatIsKeptOrFoundIsToldByItsNumberInTheDataset) {
  const auto cache = Plain();
  EXPECT_TRUE(cache->Held().empty());
  Keep(*cache, SplitNow(3));
  EXPECT_EQ(Plain()->Held(), std::vector<uint32_t>{3});
  dataset_version_ = "another list, where it has another number";
  EXPECT_TRUE(Plain()->Held().empty());
  EXPECT_NE(Plain()->Open(SplitNow(8), 0), nullptr);
  EXPECT_EQ(Plain()->Held(), std::vector<uint32_t>{8});
}

TEST_F(TaskCacheTest, AChangedFileIsNeverServedFromAnOldCache) {
  const v1::Split before = SplitNow();
  Keep(*Plain(), before);
  files_->Put("/d/a", "other");  // as long as the first
  EXPECT_EQ(Plain()->Open(before, 0), nullptr) << "the file is not what the split says";
  EXPECT_EQ(Plain()->Open(SplitNow(), 0), nullptr) << "nor are the rows those of the file";
  EXPECT_EQ(cache_->tiers()[0]->counters().dropped(CacheDrop::kStale), 1u);
  Keep(*Plain(), SplitNow());
  EXPECT_NE(Plain()->Open(SplitNow(), 0), nullptr);
}

TEST_F(TaskCacheTest, AFileThatChangesWhileItIsReadIsNotKept) {
  const v1::Split split = SplitNow();
  const auto cache = Plain();
  const auto fill = cache->Fill(split, 0);
  ASSERT_NE(fill, nullptr);
  fill->Deposit(0, 10, Rows(0, 10));
  files_->Put("/d/a", "later");
  fill->ReadToEnd(10);
  EXPECT_EQ(cache_->tiers()[0]->use().entries, 0u);
}

TEST_F(TaskCacheTest, AFileThatWasJustWrittenIsNotKeptYet) {
  v1::Split split = SplitNow();
  split.set_file_mtime_ns(absl::ToUnixNanos(clock_.Now() - absl::Seconds(1)));
  EXPECT_EQ(Plain()->Fill(split, 0), nullptr);
  clock_.Advance(absl::Seconds(2));
  EXPECT_NE(Plain()->Fill(split, 0), nullptr);
}

TEST_F(TaskCacheTest, ABrokenOrUnfinishedFillLeavesNothing) {
  const auto cache = Plain();
  {
    const auto fill = cache->Fill(SplitNow(), 0);
    fill->Deposit(0, 5, Rows(0, 5));
    fill->Break();
    fill->Deposit(5, 5, Rows(5, 5));
    fill->ReadToEnd(10);
  }
  {
    const auto fill = cache->Fill(SplitNow(), 0);
    fill->Deposit(0, 5, Rows(0, 5));
    fill->ReadToEnd(10);  // five records never came
  }
  EXPECT_EQ(cache->Open(SplitNow(), 0), nullptr);
  EXPECT_EQ(cache_->tiers()[0]->use().bytes, 0u);
  Keep(*cache, SplitNow());
  EXPECT_NE(cache->Open(SplitNow(), 0), nullptr);
}

TEST_F(TaskCacheTest, KeysTellRangesAndPlacesApart) {
  const auto cache = Plain();
  const v1::Split split = SplitNow();
  v1::Split range = split;
  range.set_begin(1);
  v1::Split elsewhere = split;
  elsewhere.set_path("/d/b");
  v1::Split later = split;
  later.set_file_mtime_ns(split.file_mtime_ns() + 1);
  v1::Split longer = split;
  longer.set_file_size(split.file_size() + 1);
  EXPECT_NE(cache->KeyOf(split, 0).place, cache->KeyOf(range, 0).place);
  EXPECT_NE(cache->KeyOf(split, 0).place, cache->KeyOf(elsewhere, 0).place);
  EXPECT_EQ(cache->KeyOf(split, 0).place, cache->KeyOf(later, 0).place);
  EXPECT_NE(cache->KeyOf(split, 0).version, cache->KeyOf(later, 0).version);
  EXPECT_NE(cache->KeyOf(split, 0).version, cache->KeyOf(longer, 0).version);
  EXPECT_EQ(cache->KeyOf(split, 0), cache->KeyOf(split, 1)) << "passes hold the same records";
}

TEST_F(TaskCacheTest, OfAShareOfTheSplitsTheSameOnesAreKeptEachTime) {
  const auto kept = [this] {
    const auto cache = Plain();
    std::set<uint64_t> begun;
    for (uint64_t i = 0; i < 2000; ++i) {
      v1::Split split = SplitNow(i);
      split.set_begin(1 + i);  // another place
      if (cache->Fill(split, 0) != nullptr) begun.insert(i);
    }
    return begun;
  };
  EXPECT_EQ(kept().size(), 2000u);
  share_ = 0.25;
  const std::set<uint64_t> quarter = kept();
  EXPECT_NEAR(static_cast<double>(quarter.size()), 500, 60);  // three sigma
  EXPECT_EQ(kept(), quarter);
  share_ = 0.5;
  const std::set<uint64_t> half = kept();
  EXPECT_TRUE(std::ranges::includes(half, quarter))
      << "a larger share keeps what a smaller one had";
}

TEST_F(TaskCacheTest, DrawsMakeKeysOfTheirOwn) {
  schema_ = std::make_shared<const Schema>(Schema({{"image", DType::kUInt8, Shape({8, 8, 3})}}));
  const std::vector<v1::Step> steps = {
      StepOf("random_flip", {{"field", ToValue(std::string("image"))}}),
      StepOf("cache", {{"variants", ToValue(int64_t{2})}})};
  const v1::Split split = SplitNow(1);
  const CacheKey key = Make(steps, 0)->KeyOf(split, 0);
  EXPECT_NE(key, Make(steps, 1)->KeyOf(split, 0));
  EXPECT_EQ(key, Make(steps, 2)->KeyOf(split, 0));
  EXPECT_NE(key, Make(steps, 0)->KeyOf(split, 1));
  EXPECT_NE(key, Make(steps, 0)->KeyOf(SplitNow(2), 0));
}

TEST_F(TaskCacheTest, AFileThatAStepReadsIsPartOfTheKey) {
  schema_ = std::make_shared<const Schema>(Schema({{"text", DType::kBytes, Shape()}}));
  const std::vector<v1::Step> steps = {
      StepOf("tokenize", {{"field", ToValue(std::string("text"))},
                          {"model", ToValue(std::string("/m/words.model"))}}),
      StepOf("cache", {})};
  EXPECT_EQ(Make(steps), nullptr) << "there is no such file";
  files_->Put("/m/words.model", "one");
  const auto cache = Make(steps);
  ASSERT_NE(cache, nullptr);
  const CacheKey key = cache->KeyOf(SplitNow(), 0);
  files_->Put("/m/words.model", "two");
  EXPECT_NE(key, Make(steps)->KeyOf(SplitNow(), 0));
  EXPECT_EQ(cache->Open(SplitNow(), 0), nullptr);
}

}  // namespace
}  // namespace headrace
