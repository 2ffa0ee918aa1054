// Against a script of the API server's: what it answers, and what it was asked. With a real one:
// not yet (docs/design/031-fleet.md).
#include "orchestrator/drivers/kubernetes_driver.h"

#include <nlohmann/json.hpp>

#include "common/fake_clock.h"
#include "common/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headrace::orchestrate {
namespace {

using ::testing::HasSubstr;

class KubernetesDriverTest : public ::testing::Test {
 protected:
  KubernetesDriverTest()
      : driver_(
            {.space = "ml", .name = "worker"},
            [this](const HttpCall& call) { return Answer(call); }, clock_) {}

  absl::StatusOr<HttpAnswer> Answer(const HttpCall& call) {
    calls_.push_back(call);
    if (away_) return Unavailable("connect: refused");
    if (status_ != 200) return HttpAnswer{status_, R"({"message": "not allowed"})"};
    if (call.method == "PATCH") {
      const auto patch = nlohmann::json::parse(call.body);
      if (patch["metadata"]["resourceVersion"] != std::to_string(version_))
        return HttpAnswer{409, R"({"message": "conflict"})"};
      replicas_ = patch["spec"]["replicas"];
      ++version_;
    }
    const nlohmann::json scale = {{"kind", "Scale"},
                                  {"metadata", {{"resourceVersion", std::to_string(version_)}}},
                                  {"spec", {{"replicas", replicas_}}}};
    return HttpAnswer{200, scale.dump()};
  }
  absl::Status Reconcile() { return driver_.Reconcile({}); }

  bool away_ = false;
  int status_ = 200;
  int version_ = 7;
  size_t replicas_ = 3;
  std::vector<HttpCall> calls_;
  FakeClock clock_;
  KubernetesDriver driver_;
};

TEST_F(KubernetesDriverTest, ItLooksBeforeItSpeaks) {
  EXPECT_FALSE(driver_.known());
  ASSERT_TRUE(Reconcile().ok());
  EXPECT_TRUE(driver_.known());
  EXPECT_EQ(driver_.wanted(), 3u);
  EXPECT_EQ(calls_.at(0).method, "GET");
  EXPECT_EQ(calls_.at(0).target, "/apis/apps/v1/namespaces/ml/deployments/worker/scale");
  ASSERT_TRUE(Reconcile().ok());
  EXPECT_EQ(calls_.size(), 1u);  // not every poll
}

TEST_F(KubernetesDriverTest, AChangeIsWrittenAtOnceAndOnce) {
  ASSERT_TRUE(Reconcile().ok());
  driver_.SetWorkers(5);
  EXPECT_EQ(driver_.wanted(), 5u);
  ASSERT_TRUE(Reconcile().ok());
  ASSERT_TRUE(Reconcile().ok());
  EXPECT_EQ(replicas_, 5u);
  EXPECT_EQ(driver_.wanted(), 5u);
  ASSERT_EQ(calls_.size(), 2u);
  EXPECT_EQ(calls_[1].method, "PATCH");
}

TEST_F(KubernetesDriverTest, OfTwoWritersTheSecondIsRefusedAndLooksAgain) {
  ASSERT_TRUE(Reconcile().ok());
  replicas_ = 9;  // somebody else
  ++version_;
  driver_.SetWorkers(5);
  ASSERT_TRUE(Reconcile().ok());
  EXPECT_EQ(replicas_, 9u);
  EXPECT_EQ(driver_.wanted(), 9u);
}

TEST_F(KubernetesDriverTest, WhatSomebodyElseSetIsSeen) {
  ASSERT_TRUE(Reconcile().ok());
  replicas_ = 9;
  ++version_;
  clock_.Advance(absl::Seconds(6));
  ASSERT_TRUE(Reconcile().ok());
  EXPECT_EQ(driver_.wanted(), 9u);
}

TEST_F(KubernetesDriverTest, AnApiThatIsAwayIsAskedAgainWithPausesAndTheChangeIsKept) {
  ASSERT_TRUE(Reconcile().ok());
  away_ = true;
  driver_.SetWorkers(5);
  EXPECT_FALSE(Reconcile().ok());
  const size_t asked = calls_.size();
  EXPECT_TRUE(Reconcile().ok());  // not yet again
  EXPECT_EQ(calls_.size(), asked);
  clock_.Advance(absl::Milliseconds(1100));
  EXPECT_FALSE(Reconcile().ok());
  away_ = false;
  EXPECT_EQ(driver_.wanted(), 5u);
  clock_.Advance(absl::Milliseconds(2100));
  EXPECT_TRUE(Reconcile().ok());
  EXPECT_EQ(replicas_, 5u);
}

TEST_F(KubernetesDriverTest, ARefusalSaysWhatTheApiSaid) {
  status_ = 403;
  const absl::Status status = Reconcile();
  EXPECT_THAT(std::string(status.message()), HasSubstr("HTTP 403: not allowed"));
  EXPECT_FALSE(driver_.known());
}

}  // namespace
}  // namespace headrace::orchestrate
