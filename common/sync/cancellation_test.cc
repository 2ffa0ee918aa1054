#include "common/sync/cancellation.h"

#include <gtest/gtest.h>

#include <atomic>
#include <optional>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "common/sync/thread.h"

namespace headrace {
namespace {

TEST(CancellationTest, AllCopiesSeeIt) {
  CancellationSource source;
  const CancellationToken a = source.token();
  const CancellationToken b = a;
  EXPECT_FALSE(a.Cancelled());
  source.Cancel();
  source.Cancel();
  EXPECT_TRUE(a.Cancelled());
  EXPECT_TRUE(b.Cancelled());
}

TEST(CancellationTest, ADefaultTokenIsNeverCancelled) {
  const CancellationToken token;
  EXPECT_FALSE(token.Cancelled());
  EXPECT_FALSE(token.Wait(absl::Milliseconds(1)));
}

TEST(CancellationTest, WaitEndsWhenCancelled) {
  CancellationSource source;
  absl::Notification waiting;
  std::atomic<bool> cancelled = false;
  Thread waiter("waiter", [&, token = source.token()] {
    waiting.Notify();
    cancelled = token.Wait(absl::Hours(1));
  });
  waiting.WaitForNotification();
  source.Cancel();
  waiter.Join();
  EXPECT_TRUE(cancelled);
}

TEST(CancellationTest, ATokenOutlivesItsSource) {
  std::optional<CancellationSource> source(std::in_place);
  const CancellationToken token = source->token();
  source->Cancel();
  source.reset();
  EXPECT_TRUE(token.Cancelled());
}

TEST(CancellationTest, CallbacksRunOnceNowOrLaterUnlessTakenBack) {
  CancellationSource source;
  int early = 0, taken_back = 0, late = 0;
  const CancellationToken::OnCancel on_early(source.token(), [&] { ++early; });
  {
    const CancellationToken::OnCancel gone(source.token(), [&] { ++taken_back; });
  }
  source.Cancel();
  const CancellationToken::OnCancel on_late(source.token(), [&] { ++late; });
  EXPECT_EQ(early, 1);
  EXPECT_EQ(taken_back, 0);
  EXPECT_EQ(late, 1);
}

}  // namespace
}  // namespace headrace
