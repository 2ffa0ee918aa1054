// Which splits whom: leases follow what workers tell of their caches, and each record still comes
// once.
#include "dispatcher/ops/locality.h"

#include <gmock/gmock.h>

#include <set>

#include "dispatcher/test_bed.h"

namespace headrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class LocalityTest : public DispatcherBed {
 protected:
  struct Asker {
    TestWorker worker;
    uint64_t task = 0;
    uint64_t requests = 0;
  };

  void Begin(uint64_t splits, bool cache = true) {
    if (cache) pipeline.add_steps()->set_op("cache");
    Use({.splits = splits});
    for (Asker* asker : {&a, &b}) asker->worker = AddWorker(asker == &a ? "a:1" : "b:1");
    client = Open();
    NextEpoch(0);
  }
  void NextEpoch(uint64_t epoch) {
    ASSERT_TRUE(Start(client, epoch).ok());
    for (Asker* asker : {&a, &b}) {
      const std::vector<uint64_t> tasks = TasksOf(asker->worker);
      ASSERT_THAT(tasks, SizeIs(1));
      asker->task = tasks[0];
      asker->requests = 0;
    }
  }
  v1::LeaseSplitsReply Ask(Asker& asker, uint32_t want = 1,
                           std::optional<std::vector<uint32_t>> cached = std::nullopt) {
    v1::LeaseSplitsRequest request;
    request.set_worker(asker.worker.id);
    request.set_task(asker.task);
    request.set_request_number(++asker.requests);
    request.set_want(want);
    request.set_tells_cached(cached.has_value());
    uint32_t last = 0;
    for (const uint32_t split : cached.value_or(std::vector<uint32_t>())) {
      request.add_cached_splits(split - last);
      last = split;
    }
    const v1::LeaseSplitsReply reply =
        once ? service->LeaseSplits(request).value()
             : Twice(&DispatcherService::LeaseSplits, request).value();
    if (reply.wait()) --asker.requests;  // it asks again under that number
    return reply;
  }
  static std::vector<uint64_t> SplitsOf(const v1::LeaseSplitsReply& reply) {
    std::vector<uint64_t> splits;
    for (const v1::Lease& lease : reply.leases()) splits.push_back(lease.split().id());
    return splits;
  }

  bool once = false;  // where there are thousands of splits
  Asker a, b;
  TestClient client;
};

TEST_F(LocalityTest, WhoHasASplitIsGivenItAndOthersLeaveItToHim) {
  Begin(6);
  EXPECT_THAT(SplitsOf(Ask(a, 1, {{0, 3}})), ElementsAre(0));
  EXPECT_THAT(SplitsOf(Ask(b, 1, {{4, 5}})), ElementsAre(1)) << "its own are too far ahead";
  EXPECT_THAT(SplitsOf(Ask(a)), ElementsAre(3));
  EXPECT_THAT(SplitsOf(Ask(a)), ElementsAre(2)) << "nobody has it; 4 and 5 are b's";
  EXPECT_TRUE(Ask(a).wait());
  EXPECT_THAT(SplitsOf(Ask(b, 2)), ElementsAre(4)) << "a fair share of what is left";
  EXPECT_THAT(SplitsOf(Ask(b)), ElementsAre(5));
}

TEST_F(LocalityTest, WhatIsOthersIsWaitedForAWhileAndThenTaken) {
  Begin(4);
  EXPECT_THAT(SplitsOf(Ask(b, 1, {{0, 1, 2, 3}})), ElementsAre(0));
  const v1::LeaseSplitsReply left = Ask(a, 2, {{}});
  EXPECT_TRUE(left.wait());
  EXPECT_FALSE(left.exhausted());
  EXPECT_FALSE(left.tell_cached());
  clock.Advance(absl::Milliseconds(900));
  EXPECT_TRUE(Ask(a, 2).wait());
  clock.Advance(absl::Milliseconds(100));
  EXPECT_THAT(SplitsOf(Ask(a, 1)), ElementsAre(3)) << "what b comes to last";
  EXPECT_THAT(SplitsOf(Ask(a, 1)), ElementsAre(2)) << "it does not wait for each";
  EXPECT_THAT(SplitsOf(Ask(b, 1)), ElementsAre(1));
}

TEST_F(LocalityTest, WhoBeginsLateFindsWhatItHas) {
  Begin(3);
  EXPECT_THAT(SplitsOf(Ask(a, 1, {{0}})), ElementsAre(0));
  EXPECT_TRUE(Ask(a).wait());
  clock.Advance(absl::Milliseconds(2900));
  EXPECT_TRUE(Ask(a).wait()) << "b has not begun";
  EXPECT_THAT(SplitsOf(Ask(b, 1, {{1, 2}})), ElementsAre(1));
  EXPECT_TRUE(Ask(a).wait());
  clock.Advance(absl::Milliseconds(900));
  EXPECT_TRUE(Ask(a).wait()) << "b is at it";
  clock.Advance(absl::Milliseconds(100));
  EXPECT_THAT(SplitsOf(Ask(a)), ElementsAre(2));
}

TEST_F(LocalityTest, WhatAWorkerThatIsGoneOrDrainsHasIsAnybodys) {
  Begin(4);
  Ask(b, 1, {{0, 1, 2, 3}});
  EXPECT_TRUE(Ask(a, 1, {{}}).wait());
  Beat(b.worker, {}, {b.task}, {}, /*draining=*/true);
  EXPECT_THAT(SplitsOf(Ask(a, 1)), ElementsAre(1));
}

TEST_F(LocalityTest, ARestartedDispatcherAsksAndUntilThenGoesByNothing) {
  Begin(6);
  Ask(a, 1, {{0, 2, 5}});
  Ask(b, 1, {{1, 3, 4}});
  Restart();
  const v1::LeaseSplitsReply reply = Ask(a);
  EXPECT_TRUE(reply.tell_cached());
  EXPECT_THAT(SplitsOf(reply), ElementsAre(2)) << "as it comes";
  EXPECT_THAT(SplitsOf(Ask(a, 1, {{0, 2, 5}})), ElementsAre(5)) << "3 and 4 may be b's";
  EXPECT_TRUE(Ask(a).wait()) << "until b has told, and has some";
  EXPECT_THAT(SplitsOf(Ask(b, 1, {{1, 3, 4}})), ElementsAre(3));
}

TEST_F(LocalityTest, AnEpochInWhichNobodyHasAnythingWaitsForNobody) {
  Begin(3);
  EXPECT_THAT(SplitsOf(Ask(a, 1, {{}})), ElementsAre(0)) << "b has not told";
  EXPECT_THAT(SplitsOf(Ask(b, 1, {{}})), ElementsAre(1));
  EXPECT_THAT(SplitsOf(Ask(a)), ElementsAre(2));
}

TEST_F(LocalityTest, TasksWithoutCachesAreNotAskedAndNotLooked) {
  Begin(4, /*cache=*/false);
  const v1::LeaseSplitsReply reply = Ask(a);
  EXPECT_FALSE(reply.tell_cached());
  EXPECT_THAT(SplitsOf(reply), ElementsAre(0));
  Ask(b, 1, {{3}});
  EXPECT_THAT(SplitsOf(Ask(b)), ElementsAre(2));
}

TEST_F(LocalityTest, StaticShardingKnowsNothingOfCaches) {
  options.set_sharding(v1::SHARDING_STATIC_FILE);
  options.set_static_slots(2);
  Begin(4);
  const v1::LeaseSplitsReply reply = Ask(a, 1, {{2}});
  EXPECT_THAT(SplitsOf(reply), ElementsAre(0));
  EXPECT_FALSE(Ask(a).tell_cached());
}

TEST_F(LocalityTest, NonsenseThatIsToldHarmsNobody) {
  Begin(3);
  EXPECT_THAT(SplitsOf(Ask(a, 1, {{7, 4'000'000'000u}})), ElementsAre(0));
  v1::LeaseSplitsRequest request;
  request.set_worker(b.worker.id);
  request.set_task(b.task);
  request.set_request_number(++b.requests);
  request.set_tells_cached(true);
  for (const uint32_t distance : {2u, 0u, 4'294'967'295u, 3u}) request.add_cached_splits(distance);
  EXPECT_THAT(SplitsOf(Twice(&DispatcherService::LeaseSplits, request).value()), ElementsAre(2));
  EXPECT_THAT(SplitsOf(Ask(a)), ElementsAre(1));
}

TEST_F(LocalityTest, ASecondEpochOverTwoCachesReadsEachSplitWhereItIs) {
  constexpr uint64_t kSplits = 200;
  Begin(kSplits);
  std::vector<uint32_t> of_a, of_b;
  for (uint32_t i = 0; i < kSplits; ++i) (i * 2654435761u >> 31 ? of_a : of_b).push_back(i);
  std::set<uint64_t> read_a, read_b;
  // a is three times as fast.
  bool first_a = true, first_b = true;
  for (int turn = 0; read_a.size() + read_b.size() < kSplits; ++turn) {
    ASSERT_LT(turn, 10'000);
    const bool is_a = turn % 4 != 0;
    bool& first = is_a ? first_a : first_b;
    const auto told = first ? std::optional(is_a ? of_a : of_b) : std::nullopt;
    first = false;
    for (const uint64_t split : SplitsOf(Ask(is_a ? a : b, 1, told))) {
      (is_a ? read_a : read_b).insert(split);
    }
  }
  EXPECT_EQ(read_a, std::set<uint64_t>(of_a.begin(), of_a.end()));
  EXPECT_EQ(read_b, std::set<uint64_t>(of_b.begin(), of_b.end()));
}

// The variance of the cached share of `batch` splits that follow each other, over what chance
// gives.
double Mixing(const std::vector<uint8_t>& cached, size_t batch) {
  double all = 0, squares = 0;
  const double batches = static_cast<double>(cached.size() / batch);
  for (size_t i = 0; i + batch <= cached.size(); i += batch) {
    double count = 0;
    for (size_t j = i; j < i + batch; ++j) count += cached[j];
    all += count;
    squares += count * count;
  }
  const double n = static_cast<double>(batch);
  const double share = all / (n * batches);
  return (squares - all * all / batches) / (batches - 1) / (n * share * (1 - share));
}

TEST_F(LocalityTest, TasksKeepRowsWhereTheJobOrTheOrchestratorSays) {
  const auto told = [&](TestWorker& worker) {
    const v1::WorkerBeatReply reply = Beat(worker);
    return reply.start_size() == 1 && reply.start(0).has_cache()
               ? std::optional(reply.start(0).cache())
               : std::nullopt;
  };
  options.set_cache(v1::CACHING_AUTO);
  Begin(4);
  EXPECT_FALSE(told(a.worker).has_value()) << "as the pipeline says, until somebody knows better";
  v1::ObserveFleetRequest request;
  request.set_orchestrator(7);
  v1::JobCache& cache = *request.add_caches();
  cache.set_job(client.job);
  cache.mutable_placement()->set_before_step(1);
  cache.mutable_placement()->set_tier("disk");
  cache.mutable_plan()->set_reason("it pays");
  request.set_pipelines(true);
  const auto reply = Twice(&DispatcherService::ObserveFleet, request).value();
  ASSERT_TRUE(told(a.worker).has_value());
  EXPECT_EQ(told(a.worker)->before_step(), 1u);
  EXPECT_EQ(told(a.worker)->tier(), "disk");
  EXPECT_EQ(reply.jobs(0).cache(), v1::CACHING_AUTO);
  EXPECT_EQ(reply.jobs(0).pipeline().steps_size(), 1);
  EXPECT_EQ(reply.jobs(0).placement().tier(), "disk");
  EXPECT_EQ(reply.jobs(0).plan().reason(), "it pays");
  request.clear_orchestrator();
  request.clear_caches();
  ASSERT_TRUE(service->ObserveFleet(request).ok());
  EXPECT_TRUE(told(a.worker).has_value()) << "whoever only looks takes nothing back";
  request.set_orchestrator(7);
  v1::JobCache& undecided = *request.add_caches();
  undecided.set_job(client.job);
  undecided.mutable_plan()->set_reason("too little is known");
  EXPECT_EQ(service->ObserveFleet(request)->jobs(0).plan().reason(), "too little is known");
  EXPECT_FALSE(told(a.worker).has_value()) << "a reason is no order";
  request.clear_caches();
  EXPECT_FALSE(service->ObserveFleet(request)->jobs(0).has_plan());
}

TEST_F(LocalityTest, AJobWithoutCachesKeepsNothingWhateverItsPipelineSays) {
  options.set_cache(v1::CACHING_OFF);
  Begin(4);
  const v1::WorkerBeatReply reply = Beat(a.worker);
  ASSERT_THAT(reply.start(), SizeIs(1));
  EXPECT_TRUE(reply.start(0).cache().none());
  EXPECT_FALSE(Ask(a).tell_cached());
}

class MixingTest : public LocalityTest, public testing::WithParamInterface<uint32_t> {};

TEST_P(MixingTest, CachedAndColdSplitsStayMixed) {
  constexpr uint64_t kSplits = 4000;
  Begin(kSplits);
  std::vector<uint32_t> of_a;
  for (uint32_t i = 0; i < kSplits; ++i) {
    if ((i * 2654435761u >> 8) % 100 < GetParam()) of_a.push_back(i);
  }
  const std::set<uint64_t> held(of_a.begin(), of_a.end());
  once = true;
  Ask(b, 1, {{}});
  std::vector<uint8_t> cached;
  for (int turn = 0; cached.size() < kSplits - 1; ++turn) {
    ASSERT_LT(turn, 10'000);
    const auto told = turn == 0 ? std::optional(of_a) : std::nullopt;
    for (const uint64_t split : SplitsOf(Ask(a, 4, told))) cached.push_back(held.contains(split));
  }
  // 1: as a shuffle; all that is cached first and the rest after it: 16.
  EXPECT_LT(Mixing(cached, 16), GetParam() < 10 ? 3 : 1.5);
  const auto half = cached.begin() + static_cast<ptrdiff_t>(cached.size() / 2);
  const auto early = static_cast<double>(std::count(cached.begin(), half, 1));
  EXPECT_NEAR(early / static_cast<double>(held.size()), 0.5, 0.1);
}

INSTANTIATE_TEST_SUITE_P(Cached, MixingTest, testing::Values(5, 20, 50, 80));

TEST(LookAheadTest, TheLessIsCachedTheFurtherItLooksUpToTen) {
  EXPECT_EQ(dispatch::LookAhead(0), 10u);
  EXPECT_EQ(dispatch::LookAhead(0.1), 10u);
  EXPECT_EQ(dispatch::LookAhead(0.3), 4u);
  EXPECT_EQ(dispatch::LookAhead(0.5), 2u);
  EXPECT_EQ(dispatch::LookAhead(1), 1u);
}

}  // namespace
}  // namespace headrace
