#include "common/clock.h"

#include <cstdlib>

#include "gtest/gtest.h"

namespace headrace {
namespace {

// A thread that a bounded closing left behind may still read it.
TEST(RealClockDeathTest, RunsOnWhileTheProcessExits) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a process that has not used it before
  EXPECT_EXIT(
      {
        // Handlers and destructors run last in, first out: this one comes after the clock's would.
        std::atexit([] { std::_Exit(RealClock().Steady() > absl::ZeroDuration() ? 7 : 1); });
        RealClock();
        std::exit(0);
      },
      testing::ExitedWithCode(7), "");
}

}  // namespace
}  // namespace headrace
