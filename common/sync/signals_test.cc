#include "common/sync/signals.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>

namespace headrace {
namespace {

// In a child process each: what is blocked stays blocked.
class ShutdownSignalDeathTest : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(ShutdownSignalDeathTest, TheFirstSignalCancels) {
  EXPECT_EXIT(
      {
        const ShutdownSignal shutdown;
        ::kill(::getpid(), SIGTERM);
        std::_Exit(shutdown.token().Wait(absl::Seconds(30)) ? 0 : 1);
      },
      testing::ExitedWithCode(0), "SIGTERM: shutting down");
}

TEST_F(ShutdownSignalDeathTest, TheSecondEndsAtOnce) {
  EXPECT_EXIT(
      {
        const ShutdownSignal shutdown;
        ::kill(::getpid(), SIGINT);
        shutdown.token().Wait(absl::Seconds(30));
        ::kill(::getpid(), SIGINT);
        CancellationToken().Wait(absl::Seconds(30));
        std::_Exit(1);
      },
      testing::ExitedWithCode(130), "second signal");
}

TEST_F(ShutdownSignalDeathTest, WithoutASignalItEndsQuietly) {
  EXPECT_EXIT(
      {
        {
          const ShutdownSignal shutdown;
          if (shutdown.token().Cancelled()) std::_Exit(1);
        }
        std::_Exit(0);
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(ShutdownSignalDeathTest, AChildGetsTheDefaultsBack) {
  EXPECT_EXIT(
      {
        const ShutdownSignal shutdown;
        sigset_t blocked;
        pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
        if (!sigismember(&blocked, SIGINT)) std::_Exit(1);
        ShutdownSignal::ResetInChild();
        pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
        std::_Exit(sigismember(&blocked, SIGINT) || sigismember(&blocked, SIGTERM) ? 2 : 0);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace headrace
