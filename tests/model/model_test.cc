// Every state of small clusters: with each fault, and with some of them together.
// HEADRACE_MODEL=whole explores larger bounds, for minutes and with gigabytes (`make model`).
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "common/logging/logging.h"
#include "tests/model/explorer.h"

namespace headrace::model {
namespace {

constexpr uint64_t kMostStates = 20'000'000;

bool Whole() {
  const char* value = std::getenv("HEADRACE_MODEL");
  return value != nullptr && std::string(value) == "whole";
}

void Quiet() {  // lost clients are many here
  LoggingConfig log;
  log.level = "error";
  (void)InitLogging(log);
}

void ExpectNothingFound(const Bound& bound) {
  Quiet();
  const Verdict verdict = Explore(bound, kMostStates);
  std::printf("%s\n  %s\n", bound.Describe().c_str(), verdict.Text().c_str());
  std::fflush(stdout);
  EXPECT_EQ(verdict.fault, "") << bound.Describe() << "\n" << verdict.Text();
  EXPECT_TRUE(verdict.whole) << bound.Describe();
  EXPECT_GT(verdict.finished, 0u);
}

// `fault`: what it must be called.
void ExpectFound(Bound bound, Mutation mutation, const std::string& fault) {
  Quiet();
  bound.mutation = mutation;
  const Verdict verdict = Explore(bound, kMostStates);
  std::printf("%s\n%s\n", bound.Describe().c_str(), verdict.Text().c_str());
  std::fflush(stdout);
  EXPECT_EQ(verdict.fault.substr(0, verdict.fault.find(' ')), fault) << verdict.Text();
  EXPECT_FALSE(verdict.trace.empty());
}

TEST(ModelTest, WithoutFaultsEveryRecordComesOnce) {
  ExpectNothingFound({});
  ExpectNothingFound({.splits = 1, .records = 3, .batch = 2, .filter = true});
}

TEST(ModelTest, AWorkerDiesAndAnotherComesUp) {
  ExpectNothingFound({.splits = 2, .worker_deaths = 1});
}

TEST(ModelTest, AWorkerThatIsTakenForLostGoesOn) {
  ExpectNothingFound({.splits = 1, .records = 2, .batch = 2, .false_alarms = 1});
}

TEST(ModelTest, AStreamBreaks) { ExpectNothingFound({.splits = 2, .stream_breaks = 1}); }

TEST(ModelTest, AnAnswerIsLost) {
  ExpectNothingFound({.splits = 1, .false_alarms = 1, .lost_answers = 2});
}

TEST(ModelTest, ACallIsLateOrDoubled) {
  ExpectNothingFound({.splits = 1, .false_alarms = 1, .late_calls = 1});
}

TEST(ModelTest, AClientDiesAndOnlyWhatItLeftUnreportedComesAgain) {
  ExpectNothingFound({.splits = 1, .client_deaths = 1});
}

TEST(ModelTest, AClientFallsSilentAndOnlyWhatItLeftUnreportedComesAgain) {
  ExpectNothingFound({.splits = 1, .client_silences = 1});
}

TEST(ModelTest, ASilentClientIsWaitedForAndNothingComesAgain) {
  ExpectNothingFound({.splits = 1,
                      .on_client_loss = v1::ON_CLIENT_LOSS_WAIT,
                      .false_alarms = 1,
                      .client_silences = 1});
}

TEST(ModelTest, AClientLeavesAndComesBack) {
  ExpectNothingFound({.splits = 1, .client_leaves = 1});
}

TEST(ModelTest, AllClientsGoOnFromACheckpoint) {
  ExpectNothingFound({.splits = 1, .records = 2, .restores = 1});
}

TEST(ModelTest, AtLeastOnceNothingIsLostAndAtMostOnceNothingIsDoubled) {
  for (const v1::Visitation visitation :
       {v1::VISITATION_AT_LEAST_ONCE, v1::VISITATION_AT_MOST_ONCE}) {
    ExpectNothingFound({.splits = 1, .visitation = visitation, .false_alarms = 1});
    ExpectNothingFound({.splits = 1, .visitation = visitation, .client_silences = 1});
  }
}

// Minutes each.
class ModelWholeTest : public testing::TestWithParam<Bound> {};

TEST_P(ModelWholeTest, NothingIsFound) {
  if (!Whole()) GTEST_SKIP() << "make model explores this: " << GetParam().Describe();
  ExpectNothingFound(GetParam());
}

INSTANTIATE_TEST_SUITE_P(
    Bounds, ModelWholeTest,
    testing::Values(Bound{.splits = 2, .false_alarms = 1}, Bound{.splits = 2, .client_deaths = 1},
                    Bound{.splits = 2, .client_silences = 1},
                    Bound{.splits = 2, .client_leaves = 1}, Bound{.splits = 2, .late_calls = 1},
                    Bound{.splits = 2, .restores = 1},
                    Bound{.splits = 1, .records = 2, .batch = 2, .false_alarms = 2},
                    Bound{.splits = 1, .worker_deaths = 1, .false_alarms = 1, .stream_breaks = 1},
                    Bound{.splits = 1, .false_alarms = 1, .late_calls = 2},
                    Bound{.splits = 1, .late_calls = 1, .restores = 1}, Bound{.worker_deaths = 1},
                    Bound{.false_alarms = 1}, Bound{.stream_breaks = 1}),
    [](const auto& bound) { return "Bound" + std::to_string(bound.index); });

// A search that finds nothing shows little unless it finds what is known to be wrong.
TEST(ModelMutationTest, WithoutConfirmationsARecordIsDoubled) {
  ExpectFound({.false_alarms = 1}, Mutation::kNoConfirmation, "DOUBLED");
}

TEST(ModelMutationTest, WithFencedFramesKeptARecordIsDoubled) {
  ExpectFound({.splits = 1, .false_alarms = 1}, Mutation::kFencedFramesKept, "DOUBLED");
}

TEST(ModelMutationTest, WithoutSkipSetsARecordIsDoubled) {
  ExpectFound({.splits = 1, .records = 2, .false_alarms = 1}, Mutation::kNoSkipSets, "DOUBLED");
}

TEST(ModelMutationTest, WithConfirmationsThatCarryNoRunsARecordIsDoubled) {
  ExpectFound({.splits = 1, .false_alarms = 1}, Mutation::kConfirmedWithoutRuns, "DOUBLED");
}

TEST(ModelMutationTest, WithBrokenStreamsKeptSecretAnEpochNeverEnds) {
  ExpectFound({.splits = 1, .stream_breaks = 1}, Mutation::kBrokenStreamsHidden, "STUCK");
}

TEST(ModelMutationTest, WithSilentClientsThatHandOverARecordIsDoubled) {
  ExpectFound({.splits = 1, .client_silences = 1}, Mutation::kSilentClientsHandOver, "DOUBLED");
}

TEST(ModelMutationTest, WithReportsForgottenAnEpochNeverEnds) {
  ExpectFound({.splits = 1, .lost_answers = 1}, Mutation::kReportsForgotten, "STUCK");
}

}  // namespace
}  // namespace headrace::model
