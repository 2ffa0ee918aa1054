#include "common/sync/cancellation.h"

#include "absl/synchronization/notification.h"

namespace headrace {

bool CancellationToken::Wait(absl::Duration duration) const {
  if (Cancelled()) return true;
  absl::Notification cancelled;
  const OnCancel wake(*this, [&cancelled] { cancelled.Notify(); });
  return cancelled.WaitForNotificationWithTimeout(duration);
}

}  // namespace headrace
