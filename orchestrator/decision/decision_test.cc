#include "orchestrator/decision/decision.h"

#include "gtest/gtest.h"
#include "orchestrator/decision/policy.h"

namespace headrace::orchestrate {
namespace {

TEST(DecisionTest, ALineSaysWhatAndWhy) {
  Decision decision{
      "autoscale", {.verb = Verb::kSetWorkers, .amount = 6}, "demand 412/s", {{"demand", 412}}};
  EXPECT_EQ(ToLine(decision), "autoscale: set_workers 6: demand 412/s");
  EXPECT_EQ(NumberOf(decision, "demand"), 412);
  EXPECT_EQ(NumberOf(decision, "supply"), 0);
  decision.action = {.verb = Verb::kPlaceCache, .subject = "a/decode", .where = "disk"};
  EXPECT_EQ(ToLine(decision), "autoscale: place_cache 'a/decode' disk: demand 412/s");
}

struct Count {
  int windows = 0;
};
std::vector<Decision> DecideToCount(const int& step, const Observation&, Count& state) {
  state.windows += step;
  return {
      {"count", {.verb = Verb::kSetWorkers, .amount = static_cast<double>(state.windows)}, "", {}}};
}

TEST(PolicyTest, AFunctionWithItsStateIsAPolicy) {
  const auto policy = MakePolicy<int, Count>("count", 2, DecideToCount);
  EXPECT_EQ(policy->name(), "count");
  EXPECT_EQ(policy->Decide({}).front().action.amount, 2);
  EXPECT_EQ(policy->Decide({}).front().action.amount, 4);
}

}  // namespace
}  // namespace headrace::orchestrate
