// What a task gives up: nothing of it comes out under the old lease, all of it under others, and
// each record once.
#include <algorithm>
#include <deque>
#include <random>
#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "pipeline/engine/task.h"
#include "pipeline/engine/testing/engine_rig.h"

namespace headrace {
namespace {

using testing_engine::Census;
using testing_engine::CountingFormat;
using testing_engine::Gate;
using testing_engine::MakeLease;
using testing_engine::MakeStep;
using testing_engine::Outcome;
using testing_engine::Rig;

// Leases, and the pieces that are cut off them, which the same task gets again.
class Leases {
 public:
  explicit Leases(Task& task) : task_(task) {}

  void Add(v1::Lease lease) {
    lease.set_number(++last_);
    const absl::Status added = task_.AddLease(lease);
    EXPECT_TRUE(added.ok()) << added;
    open_[lease.number()] = lease;
  }
  // Makes pieces of what `report` says; for others to have.
  void Take(const v1::SplitReport& report) {
    v1::Lease& lease = open_.at(report.lease());
    uint64_t end = lease.end_record();
    for (int i = report.cuts_size(); i-- > 0;) {
      EXPECT_GE(report.cuts(i), lease.first_record());
      EXPECT_TRUE(end == 0 || report.cuts(i) < end);
      v1::Lease piece = lease;
      piece.set_first_record(report.cuts(i));
      piece.set_end_record(end);
      pieces.push_back(piece);
      ++cut;
      end = report.cuts(i);
    }
    if (report.cuts_size() != 0) lease.set_end_record(end);
    if (report.read_to_end()) {
      const uint64_t most = lease.split().end();
      EXPECT_EQ(report.records(), lease.end_record() == 0 ? most : std::min(most, end));
    }
  }

  std::deque<v1::Lease> pieces;
  size_t cut = 0;  // pieces, so far

 private:
  Task& task_;
  uint64_t last_ = 0;
  std::map<uint64_t, v1::Lease> open_;
};

TEST(ShedTest, WhatIsGivenUpComesUnderOtherLeasesAndEachRecordOnce) {
  for (uint32_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    CountingFormat::Options format;
    format.pad_bytes = seed % 3 == 0 ? 5000 : 10;  // many read-ahead blocks, or few
    format.blank = [](uint64_t, uint64_t index) { return index % 11 == 3; };
    TaskOptions options;
    options.max_block_rows = 1 + random() % 40;
    options.read_bytes = 100'000;
    std::vector<v1::Step> steps = {MakeStep("hook")};
    if (seed % 2 == 0) steps.push_back(MakeStep("drop_some", {{"every", 5}}));
    if (seed % 4 == 1) steps.push_back(MakeStep("cut", {{"every", 3}}));
    if (seed % 3 == 1) steps.push_back(MakeStep("shuffle", {{"buffer", 40}}));
    Gate gate;
    Rig rig({.threads = 2,
             .steps = steps,
             .format = format,
             .task = options,
             .hooks = {.run = [&gate](const Block& block) {
               gate.Wait();
               absl::SleepFor(absl::Microseconds(300) * block.rows());
             }}});
    Leases leases(rig.task());
    uint64_t records = 0;
    for (uint64_t split = 1; split <= 4; ++split) {
      const uint64_t count = 100 + random() % 300;
      records += count;
      leases.Add(MakeLease(0, split, count));
    }
    // Few blocks are in the chain and nothing moves: there is something to give up for certain.
    gate.AwaitArrivals(1);
    absl::SleepFor(absl::Milliseconds(100));
    rig.task().Shed(1 + random() % 3);
    gate.Open();
    Outcome out;
    size_t taken = 0;
    const auto step = [&] {
      for (; taken < out.reports.size(); ++taken) leases.Take(out.reports[taken]);
      if (random() % 4 == 0) rig.task().Shed(1 + random() % 3);
      if (!leases.pieces.empty() && random() % 2 == 0) {
        leases.Add(leases.pieces.front());
        leases.pieces.pop_front();
      }
      return leases.pieces.empty() && rig.task().LeasesWanted() > 0 && random() % 8 == 0;
    };
    rig.CollectUntil(step, out);
    // What is cut from now on comes when all else is through.
    for (int round = 0; round < 50; ++round) {
      rig.task().NoMoreLeases();
      rig.CollectUntil([&] { return rig.task().Idle() || !rig.task().status().ok(); }, out);
      ASSERT_TRUE(rig.task().status().ok()) << rig.task().status();
      for (; taken < out.reports.size(); ++taken) leases.Take(out.reports[taken]);
      if (leases.pieces.empty()) break;
      for (; !leases.pieces.empty(); leases.pieces.pop_front()) leases.Add(leases.pieces.front());
    }
    std::set<std::pair<uint64_t, uint64_t>> seen;  // split, record
    for (const Census& census : {out.output(), out.settled()}) {
      for (const auto& [element, times] : census) {
        EXPECT_EQ(times, 1) << "record " << std::get<1>(element) << " of " << std::get<0>(element);
        seen.insert({std::get<0>(element), std::get<1>(element)});
      }
    }
    EXPECT_EQ(seen.size(), records);
    EXPECT_GT(leases.cut, 0u);
    if (HasFailure()) return;
  }
}

TEST(ShedTest, ATaskThatIsSoonThroughGivesNothingUp) {
  Rig rig({.threads = 1});
  Leases leases(rig.task());
  Outcome out;
  for (uint64_t split = 1; split <= 200; ++split) {
    leases.Add(MakeLease(0, split, 50));
    rig.CollectUntil([&] { return out.values().size() == 50 * split; }, out);
  }
  leases.Add(MakeLease(0, 201, 50));
  rig.task().Shed(3);
  rig.task().NoMoreLeases();
  rig.CollectUntil([&] { return rig.task().Idle(); }, out);
  for (const v1::SplitReport& report : out.reports) EXPECT_EQ(report.cuts_size(), 0);
}

TEST(ShedTest, WhoIsAtWorkOnItsFirstBlockGivesUpLeasesItHasNotBegun) {
  Gate gate;
  const auto run = [&](const Block& block) {
    if (block.provenance(0)[0].split < 5) gate.Wait();
  };
  Rig rig({.threads = 1, .steps = {MakeStep("hook")}, .hooks = {.run = run}});
  Leases leases(rig.task());
  // How many records a split has is known by one that was read.
  leases.Add(MakeLease(0, 5, 5000));
  Outcome out;
  rig.CollectUntil([&] { return out.values().size() == 5000; }, out);
  for (uint64_t split = 1; split <= 4; ++split) leases.Add(MakeLease(0, split, 5000));
  gate.AwaitArrivals(1);
  absl::SleepFor(absl::Milliseconds(300));  // it is not that fast any more
  rig.task().Shed(1);
  std::map<uint64_t, uint64_t> cuts;
  for (const v1::SplitReport& report : rig.task().TakeReports()) {
    if (report.cuts_size() != 0) cuts[report.lease()] = report.cuts(0);
  }
  // Their numbers are 2 to 5; half of it all is the last two, or about that.
  EXPECT_THAT(cuts, testing::Contains(testing::Pair(5, 0)));
  EXPECT_FALSE(cuts.contains(2));
  gate.Open();
}

TEST(ShedTest, LanesOfTheirOwnGiveNothingUp) {
  Gate gate;
  TaskOptions options;
  options.shard = 0;
  options.shards = 2;
  options.shard_by_record = true;
  Rig rig({.threads = 1,
           .steps = {MakeStep("hook")},
           .task = options,
           .hooks = {.run = [&](const Block&) { gate.Wait(); }}});
  Leases leases(rig.task());
  for (uint64_t split = 1; split <= 4; ++split) leases.Add(MakeLease(0, split, 5000));
  gate.AwaitArrivals(1);
  rig.task().Shed(1);
  for (const v1::SplitReport& report : rig.task().TakeReports()) EXPECT_EQ(report.cuts_size(), 0);
  gate.Open();
}

}  // namespace
}  // namespace headrace
