// Cancellation is handed down: whoever may stop some work keeps a CancellationSource, the work gets
// its token. Copies of a token see the same cancellation; a default token is never cancelled. All
// members are thread-safe. The state lives as long as any source, token or registration of it.
#pragma once

#include <stop_token>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"

namespace headrace {

class CancellationToken {
 public:
  CancellationToken() : token_(std::stop_token()) {}
  explicit CancellationToken(std::stop_token token) : token_(std::move(token)) {}

  bool Cancelled() const { return token_.stop_requested(); }

  // Sleeps for `duration` at most; true (at once) when cancelled.
  bool Wait(absl::Duration duration) const;

  // Runs a function once when the token is cancelled: in the thread that cancels, or at once in
  // this one if that has happened. The destructor takes it back and waits for a run that is going
  // on in another thread. The function must be short and must not throw.
  class OnCancel {
   public:
    OnCancel(const CancellationToken& token, absl::AnyInvocable<void()> function)
        : callback_(token.token_, std::move(function)) {}
    OnCancel(const OnCancel&) = delete;
    OnCancel& operator=(const OnCancel&) = delete;

   private:
    std::stop_callback<absl::AnyInvocable<void()>> callback_;
  };

 private:
  std::stop_token token_;
};

class CancellationSource {
 public:
  // The first call cancels and runs the functions registered with OnCancel; later ones do nothing.
  void Cancel() { source_.request_stop(); }
  bool Cancelled() const { return source_.stop_requested(); }
  CancellationToken token() const { return CancellationToken(source_.get_token()); }

 private:
  std::stop_source source_;
};

}  // namespace headrace
