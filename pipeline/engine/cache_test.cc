// A task over a cache delivers what it delivers without one: the same rows, the same accounts.
#include <atomic>

#include "common/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "pipeline/engine/task.h"
#include "pipeline/engine/testing/engine_rig.h"
#include "pipeline/engine/testing/memory_prefix_cache.h"

namespace headrace {
namespace {

using testing_engine::MakeLease;
using testing_engine::MakeStep;
using testing_engine::MemoryPrefixCache;
using testing_engine::Outcome;
using testing_engine::Rig;

v1::Step Cache(int64_t variants = 0) {
  v1::Step step = MakeStep("cache", {{"variants", variants}});
  v1::NamedValue* key = step.mutable_params()->add_entries();
  key->set_name("key");
  *key->mutable_value() = ToValue(std::string("v1"));
  return step;
}

class EngineCacheTest : public testing::Test {
 protected:
  Rig::Options Options(std::vector<v1::Step> steps) {
    Rig::Options options;
    options.steps = std::move(steps);
    options.threads = 3;
    options.cache = cache_;
    options.task.max_block_rows = 16;
    options.format.before_read = [this](uint64_t) {
      ++reads_;
      return absl::OkStatus();
    };
    return options;
  }
  Outcome Run(Rig::Options options) {
    reads_ = 0;
    Rig rig(std::move(options));
    Outcome out = rig.RunSplits(kRecords);
    EXPECT_TRUE(rig.task().status().ok()) << rig.task().status();
    EXPECT_TRUE(rig.task().Idle());
    stats_ = rig.task().Stats();
    return out;
  }
  static void ExpectSame(const Outcome& a, const Outcome& b) {
    EXPECT_EQ(a.values(), b.values());
    EXPECT_EQ(a.output(), b.output());
    EXPECT_EQ(a.settled(), b.settled());
    EXPECT_EQ(a.failed(), b.failed());
    for (uint64_t lease = 1; lease <= kRecords.size(); ++lease) {
      EXPECT_TRUE(b.EndOf(lease).read_to_end());
      EXPECT_EQ(a.EndOf(lease).records(), b.EndOf(lease).records());
    }
  }

  inline static const std::vector<uint64_t> kRecords = {300, 1, 70, 256};
  std::shared_ptr<MemoryPrefixCache> cache_ = std::make_shared<MemoryPrefixCache>();
  uint64_t RowsOut(const std::string& step) const {
    for (const v1::StepStats& each : stats_.steps()) {
      if (each.step() == step) return each.rows_out();
    }
    ADD_FAILURE() << "no step " << step;
    return 0;
  }

  std::atomic<int> reads_ = 0;
  v1::TaskStats stats_;  // of the last run
};

TEST_F(EngineCacheTest, TheSecondTimeNothingIsReadAndAllIsTheSame) {
  const std::vector<v1::Step> steps = {
      MakeStep("drop_some", {{"every", 3}}), Cache(), MakeStep("drop_some", {{"every", 5}}),
      MakeStep("shuffle", {{"buffer", 40}}), MakeStep("batch", {{"size", 8}})};
  Rig::Options without = Options(steps);
  without.cache = nullptr;
  const Outcome plain = Run(std::move(without));
  const Outcome first = Run(Options(steps));
  EXPECT_EQ(cache_->kept().size(), kRecords.size());
  EXPECT_EQ(cache_->broken(), 0);
  EXPECT_GT(reads_, 0);
  const Outcome second = Run(Options(steps));
  EXPECT_EQ(reads_, 0);
  EXPECT_EQ(cache_->hits(), 4);
  ExpectSame(plain, first);
  ExpectSame(plain, second);
}

TEST_F(EngineCacheTest, WhatCameFromTheCacheIsCountedApartFromWhatWasRead) {
  const std::vector<v1::Step> steps = {MakeStep("drop_some", {{"every", 3}}), Cache(),
                                       MakeStep("drop_some", {{"every", 5}})};
  Run(Options(steps));
  EXPECT_EQ(RowsOut("0:read"), 627u);
  EXPECT_EQ(RowsOut("0:cached"), 0u);
  const uint64_t kept = RowsOut("1:drop_some");
  Run(Options(steps));
  EXPECT_EQ(RowsOut("0:read"), 0u);
  EXPECT_EQ(RowsOut("0:cached"), kept);
  EXPECT_EQ(RowsOut("1:drop_some"), 0u);
  Rig::Options without = Options(steps);
  without.cache = nullptr;
  Run(std::move(without));
  for (const v1::StepStats& step : stats_.steps()) EXPECT_NE(step.step(), "0:cached");
}

TEST_F(EngineCacheTest, BlankRecordsAndACacheInFrontOfAllStepsAreNoDifferent) {
  const auto options = [this] {
    Rig::Options out = Options({Cache(), MakeStep("drop_some", {{"every", 4}})});
    out.format.blank = [](uint64_t, uint64_t index) { return index % 3 == 0 || index > 200; };
    return out;
  };
  const Outcome first = Run(options());
  const Outcome second = Run(options());
  EXPECT_EQ(reads_, 0);
  ExpectSame(first, second);
}

TEST_F(EngineCacheTest, BehindAnAsynchronousStepRowsAreKeptToo) {
  const std::vector<v1::Step> steps = {MakeStep("hook"),
                                       MakeStep("elsewhere", {{"every", int64_t{1} << 60}}),
                                       MakeStep("drop_some", {{"every", 3}}),
                                       Cache(),
                                       MakeStep("hook"),
                                       MakeStep("elsewhere", {{"every", int64_t{1} << 60}})};
  const Outcome first = Run(Options(steps));
  EXPECT_EQ(cache_->kept().size(), kRecords.size());
  std::atomic<int> hooks = 0;
  Rig::Options again = Options(steps);
  again.hooks.run = [&hooks](const Block& block) { hooks += static_cast<int>(block.rows()); };
  const Outcome second = Run(std::move(again));
  EXPECT_EQ(reads_, 0);
  EXPECT_EQ(hooks, static_cast<int>(second.values().size()))
      << "only the steps behind the cache run";
  ExpectSame(first, second);
}

TEST_F(EngineCacheTest, ASplitWithAFailedRecordIsNotKept) {
  for (const bool in_reader : {false, true}) {
    cache_ = std::make_shared<MemoryPrefixCache>();
    const auto options = [&] {
      Rig::Options out = Options(
          in_reader ? std::vector<v1::Step>{Cache()}
                    : std::vector<v1::Step>{MakeStep("fail_some", {{"every", 50}}), Cache()});
      if (in_reader) {
        out.format.damaged = [](uint64_t split, uint64_t index) {
          return split == 4 && index == 7;
        };
      }
      out.task.on_error = v1::ON_ERROR_SKIP;
      return out;
    };
    const Outcome first = Run(options());
    EXPECT_GT(first.failed(), 0u);
    EXPECT_LT(cache_->kept().size(), kRecords.size());
    EXPECT_FALSE(cache_->kept().contains(4));
    EXPECT_EQ(cache_->kept().size() + static_cast<size_t>(cache_->broken()), kRecords.size());
    const Outcome second = Run(options());
    EXPECT_EQ(first.failed(), second.failed()) << "it fails again, and is counted again";
    ExpectSame(first, second);
  }
}

TEST_F(EngineCacheTest, AFailureBehindTheCacheDoesNotMatterToIt) {
  Rig::Options options = Options({Cache(), MakeStep("fail_some", {{"every", 20}})});
  options.task.on_error = v1::ON_ERROR_SKIP;
  EXPECT_GT(Run(std::move(options)).failed(), 0u);
  EXPECT_EQ(cache_->kept().size(), kRecords.size());
}

TEST_F(EngineCacheTest, DeliveredRecordsAreLeftOutOfCachedSplitsAndSplitsInPartAreNotKept) {
  const std::vector<v1::Step> steps = {MakeStep("drop_some", {{"every", 3}}), Cache()};
  v1::Lease lease = MakeLease(1, 1, 300);
  for (const auto& [first, count] : {std::pair<uint64_t, uint64_t>{0, 20}, {100, 150}}) {
    v1::Run* run = lease.add_skip();
    run->set_split(1);
    run->set_first(first);
    run->set_count(count);
  }
  const auto rest = [&] {
    Rig rig(Options(steps));
    EXPECT_TRUE(rig.task().AddLease(lease).ok());
    rig.task().NoMoreLeases();
    return rig.Collect();
  };
  const Outcome made = rest();
  EXPECT_TRUE(cache_->kept().empty());
  const Outcome all = Run(Options(steps));
  reads_ = 0;
  const Outcome kept = rest();
  EXPECT_EQ(reads_, 0);
  EXPECT_EQ(made.values(), kept.values());
  EXPECT_EQ(made.settled(), kept.settled());
  EXPECT_LT(kept.values().size(), all.values().size());
}

TEST_F(EngineCacheTest, AShardOfEachSplitIsReadFromTheCacheAndNotKept) {
  const auto options = [this] {
    Rig::Options out = Options({MakeStep("drop_some", {{"every", 3}}), Cache()});
    out.task.shard_by_record = true;
    out.task.shard = 1;
    out.task.shards = 3;
    return out;
  };
  const Outcome made = Run(options());
  EXPECT_TRUE(cache_->kept().empty());
  (void)Run(Options({MakeStep("drop_some", {{"every", 3}}), Cache()}));
  const Outcome kept = Run(options());
  EXPECT_EQ(reads_, 0);
  ExpectSame(made, kept);
}

TEST_F(EngineCacheTest, DamageAnywhereInASplitCostsNoRecordAndDoublesNone) {
  const std::vector<v1::Step> steps = {MakeStep("drop_some", {{"every", 3}}), Cache(),
                                       MakeStep("batch", {{"size", 10}})};
  const Outcome first = Run(Options(steps));
  for (const size_t good_pieces : {0, 1, 2, 5}) {
    cache_->damaged = {{1, good_pieces}, {4, good_pieces + 1}};
    const Outcome again = Run(Options(steps));
    EXPECT_GT(reads_, 0);
    ExpectSame(first, again);
  }
}

TEST_F(EngineCacheTest, AStepThatHasEnoughLeavesNoHalfSplit) {
  Rig rig(Options({Cache(), MakeStep("take", {{"count", 50}})}));
  const Outcome out = rig.RunSplits(kRecords);
  EXPECT_EQ(out.values().size(), 50u);
  rig.Stop();
  for (const auto& [split, kept] : cache_->kept()) {
    uint64_t records = 0;
    for (const auto& [first, piece] : kept.pieces) records += piece.count;
    EXPECT_EQ(records, kept.records);
  }
}

TEST_F(EngineCacheTest, DrawsInFrontOfACacheComeInVariantsWithAndWithoutOne) {
  const auto values = [this](uint64_t epoch, bool cached) {
    Rig::Options options = Options({MakeStep("noise"), Cache(2)});
    options.task.epoch = epoch;
    if (!cached) options.cache = nullptr;
    return Run(std::move(options)).values();
  };
  const auto first = values(0, false);
  EXPECT_NE(first, values(1, false));
  EXPECT_EQ(first, values(2, false));
  EXPECT_EQ(first, values(2, true));
  EXPECT_EQ(first, values(4, true));
  EXPECT_EQ(reads_, 0);
}

}  // namespace
}  // namespace headrace
