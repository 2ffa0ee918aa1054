#include "common/fault_points.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/time/clock.h"
#include "common/status.h"

namespace headrace {
namespace {

TEST(FaultPointTest, AnUnarmedPointDoesNothing) {
  EXPECT_TRUE(FaultPoint("a.b").ok());
  const ScopedFault other("a.c", FailWith(Unavailable("x")));
  EXPECT_TRUE(FaultPoint("a.b").ok());
  EXPECT_EQ(other.hits(), 0);
}

TEST(FaultPointTest, AFaultActsWhileItLives) {
  {
    const ScopedFault fault("a.b", FailWith(Unavailable("disk gone")));
    EXPECT_EQ(FaultPoint("a.b"), Unavailable("disk gone"));
    EXPECT_EQ(fault.hits(), 1);
  }
  EXPECT_TRUE(FaultPoint("a.b").ok());
}

TEST(FaultPointTest, AWindowChoosesTheHits) {
  const ScopedFault fault("a.b", FailWith(Unavailable("x")), {.first = 2, .times = 2});
  EXPECT_TRUE(FaultPoint("a.b").ok());
  EXPECT_FALSE(FaultPoint("a.b").ok());
  EXPECT_FALSE(FaultPoint("a.b").ok());
  EXPECT_TRUE(FaultPoint("a.b").ok());
  EXPECT_EQ(fault.hits(), 4);
}

TEST(FaultPointTest, AnActionMayBeAnyFunction) {
  int ran = 0;
  const ScopedFault fault("a.b", [&ran] {
    ++ran;
    return FaultPoint("a.c");  // no lock is held meanwhile
  });
  const ScopedFault inner("a.c", FailWith(Aborted("inner")));
  EXPECT_EQ(FaultPoint("a.b"), Aborted("inner"));
  EXPECT_EQ(ran, 1);
}

TEST(FaultPointTest, ACrashIsAKill) {
  EXPECT_EXIT((void)Crash()(), testing::KilledBySignal(SIGKILL), "");
}

// The specification of the environment, armed for the rest of the process: point names of this
// test's own.
TEST(ArmFaultsTest, ReadsNameWindowAndAction) {
  ASSERT_TRUE(ArmFaults(" env.one@2*1=fail:UNAVAILABLE:disk: gone ; env.two=delay:1ms;").ok());
  EXPECT_TRUE(FaultPoint("env.one").ok());
  EXPECT_EQ(FaultPoint("env.one"), Unavailable("disk: gone"));
  EXPECT_TRUE(FaultPoint("env.one").ok());
  const absl::Time start = absl::Now();
  EXPECT_TRUE(FaultPoint("env.two").ok());
  EXPECT_GE(absl::Now() - start, absl::Milliseconds(1));
}

TEST(ArmFaultsTest, AWrongPartIsNamedAndNothingIsArmed) {
  const auto error = [](std::string_view spec) { return std::string(ArmFaults(spec).message()); };
  EXPECT_THAT(error("env.x=crash; env.y=explode"), testing::HasSubstr("'explode' is none of"));
  EXPECT_THAT(error("env.y"), testing::HasSubstr("'env.y': no '='"));
  EXPECT_THAT(error("env.y@0=crash"), testing::HasSubstr("'@0'"));
  EXPECT_THAT(error("env.y*x=crash"), testing::HasSubstr("'*x'"));
  EXPECT_THAT(error("env.y=fail:NOPE:x"), testing::HasSubstr("'NOPE'"));
  EXPECT_THAT(error("env.y=delay:soon"), testing::HasSubstr("'soon'"));
  EXPECT_THAT(error("=crash"), testing::HasSubstr("name is empty"));
  EXPECT_TRUE(FaultPoint("env.x").ok());  // would have killed us
}

}  // namespace
}  // namespace headrace
