// Calls that block, made so that Ctrl-C is answered at once: the call runs on a thread of its own,
// the caller waits for it in slices with the GIL released and lets Python's signal handlers run in
// between. A call that the caller gave up goes on to its end, which its own timeouts bound;
// WaitForLeftCalls (at the interpreter's exit) waits for such. So a body owns what it uses, and
// touches no Python object.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <optional>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"

namespace headrace::python {

// How long Ctrl-C may go unseen.
inline constexpr absl::Duration kSignalSlice = absl::Milliseconds(100);

class BlockingCall {
 public:
  explicit BlockingCall(absl::AnyInvocable<void()> body);

  bool done() const { return done_->HasBeenNotified(); }
  // With the GIL held. False: still running after `timeout`. Throws what a signal handler raised
  // (KeyboardInterrupt); the call goes on.
  bool Wait(absl::Duration timeout) const;

 private:
  std::shared_ptr<absl::Notification> done_;
};

// What `f` returns, with the GIL held; `f` runs without.
template <typename F>
auto RunInterruptibly(F f) -> decltype(f()) {
  auto result = std::make_shared<std::optional<decltype(f())>>();
  const BlockingCall call([result, f = std::move(f)]() mutable { result->emplace(f()); });
  call.Wait(absl::InfiniteDuration());
  return *std::exchange(*result, std::nullopt);
}

// Without the GIL: until no call runs, or `timeout`.
void WaitForLeftCalls(absl::Duration timeout);

}  // namespace headrace::python
