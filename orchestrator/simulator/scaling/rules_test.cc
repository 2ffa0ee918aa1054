// The rules of others, held against what their sources say they do.
#include "orchestrator/simulator/scaling/rules.h"

#include "gtest/gtest.h"

namespace headrace::orchestrate {
namespace {

Observation Seen(size_t workers, double rate, double fill = 0.5) {
  Observation seen;
  seen.workers_wanted = workers;
  seen.jobs = {{.name = "a", .clients = 1, .elements_per_second = rate, .queue_fill = fill}};
  return seen;
}

// Applies the answer; what the rule was told is not changed otherwise.
size_t After(Policy& rule, size_t workers, double rate, double fill = 0.5) {
  for (const Decision& decision : rule.Decide(Seen(workers, rate, fill))) {
    if (decision.action.verb == Verb::kSetWorkers && decision.action.where.empty())
      workers = static_cast<size_t>(decision.action.amount);
  }
  return workers;
}

TEST(CachewRuleTest, ItClimbsByOneWhileItPaysAndGoesBackByOne) {
  const auto rule = MakeCachewRule({});
  size_t workers = 1;
  for (size_t expected : {2u, 3u, 4u, 5u})
    EXPECT_EQ(workers = After(*rule, workers, std::min(4.0, 1.0 * workers)), expected);
  EXPECT_EQ(workers = After(*rule, workers, 4.0), 4u);  // the fifth brought nothing
  for (int i = 0; i < 50; ++i) EXPECT_EQ(workers = After(*rule, workers, 4.0), 4u);
}

TEST(CachewRuleTest, SlowerBatchesAreNoticedAtTheNextLook) {
  const auto rule = MakeCachewRule({});
  size_t workers = 1;
  for (int i = 0; i < 8; ++i) workers = After(*rule, workers, std::min(4.0, 1.0 * workers));
  ASSERT_EQ(workers, 4u);
  size_t windows = 0;
  while (workers == 4 && windows < 100) {
    workers = After(*rule, workers, 2.0);
    ++windows;
  }
  EXPECT_EQ(workers, 5u);
  EXPECT_LE(windows, 40u);
}

TEST(CachewRuleTest, AnEmptyQueueAtTheEndMakesItBlind) {
  const auto rule = MakeCachewRule({});
  size_t workers = 1;
  for (int i = 0; i < 8; ++i) workers = After(*rule, workers, std::min(4.0, 1.0 * workers), 0);
  for (int i = 0; i < 200; ++i) workers = After(*rule, workers, 1.0, 0);
  EXPECT_EQ(workers, 4u);
}

TEST(PecanRuleTest, ItEnds) {
  const auto rule = MakePecanRule({});
  size_t workers = 1;
  for (int i = 0; i < 60; ++i) workers = After(*rule, workers, std::min(4.0, 1.0 * workers));
  const size_t at_end = workers;
  for (int i = 0; i < 60; ++i) workers = After(*rule, workers, 0.2);
  EXPECT_EQ(workers, at_end);
}

Observation Pods(double at, size_t wanted, size_t ready, double use) {
  Observation seen;
  seen.at_seconds = at;
  seen.workers_wanted = wanted;
  for (size_t i = 0; i < ready; ++i) seen.workers.push_back({.worker = i + 1, .busy = use});
  return seen;
}

TEST(CpuHpaTest, ItWishesForWhatItsFormulaSays) {
  const auto wish = [](size_t wanted, size_t ready, double use) {
    return MakeCpuHpa({})->Decide(Pods(0, wanted, ready, use)).front().action;
  };
  EXPECT_EQ(wish(10, 10, 1.0).amount, 13);          // ceil(10 * 1 / 0.8)
  EXPECT_EQ(wish(10, 10, 0.85).verb, Verb::kHold);  // within 10%
  EXPECT_EQ(wish(10, 5, 1.0).verb, Verb::kHold);    // those that start count as idle
  EXPECT_EQ(wish(10, 10, 0.4).amount, 5);
}

TEST(CpuHpaTest, ItGoesDownByTheHighestWishOfFiveMinutes) {
  const auto rule = MakeCpuHpa({});
  EXPECT_EQ(rule->Decide(Pods(0, 10, 10, 0.78)).front().action.verb, Verb::kHold);
  EXPECT_EQ(rule->Decide(Pods(15, 10, 10, 0.2)).front().action.verb, Verb::kHold);
  EXPECT_EQ(rule->Decide(Pods(320, 10, 10, 0.2)).front().action.amount, 3);
}

}  // namespace
}  // namespace headrace::orchestrate
