#include "orchestrator/placement/resolve.h"

#include "gtest/gtest.h"

namespace headrace::orchestrate {
namespace {

class ResolveTest : public ::testing::Test {
 protected:
  ResolveTest() { EXPECT_TRUE(Ask(window_)); }
  bool Ask(const ResolveWindow& window) {
    ResolveDecision decision = ShouldSolveAgain({}, window, std::move(state_));
    state_ = decision.state;
    EXPECT_FALSE(decision.reason.empty());
    return decision.solve;
  }
  ResolveWindow window_{.predicted_rows_per_second = 100,
                        .observed_rows_per_second = 100,
                        .free_bandwidth = {1e9, 5e8},
                        .jobs = 1,
                        .jobs_fingerprint = 7};
  ResolveState state_;
};

TEST_F(ResolveTest, ThreeWindowsInARowThatAreOff) {
  ResolveWindow off = window_;
  off.observed_rows_per_second = 79;
  EXPECT_FALSE(Ask(off));
  EXPECT_FALSE(Ask(off));
  EXPECT_FALSE(Ask(window_));  // begins anew
  EXPECT_FALSE(Ask(off));
  ResolveWindow idle = window_;
  idle.observed_rows_per_second = 0;
  EXPECT_FALSE(Ask(idle));  // says nothing
  EXPECT_FALSE(Ask(off));
  EXPECT_TRUE(Ask(off));
  EXPECT_FALSE(Ask(off));
}

TEST_F(ResolveTest, AJobThatJoinsOrLeavesAndAnEpochThatEnds) {
  ResolveWindow joined = window_;
  joined.jobs_fingerprint = 8;
  EXPECT_TRUE(Ask(joined));
  EXPECT_FALSE(Ask(joined));
  joined.epoch_ended = true;
  EXPECT_TRUE(Ask(joined));
}

TEST_F(ResolveTest, BandwidthThatMovesByAQuarterSinceItWasSolved) {
  ResolveWindow moved = window_;
  moved.free_bandwidth = {1e9, 5e8 * 0.8};
  EXPECT_FALSE(Ask(moved));
  moved.free_bandwidth = {1e9, 5e8 * 0.7};
  EXPECT_TRUE(Ask(moved));
  EXPECT_FALSE(Ask(moved));
}

}  // namespace
}  // namespace headrace::orchestrate
