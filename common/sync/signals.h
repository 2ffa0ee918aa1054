// Ctrl-C and `kill` as a cancellation. Made first in main, before any other thread: it blocks
// SIGINT and SIGTERM there, all later threads inherit that, and only its own thread ever sees them.
// The first signal cancels the token (which runs OnCancel functions on that thread), the second
// ends the process at once with exit code 130. SIGPIPE is ignored: a peer that has gone is an error
// of the write.
#pragma once

#include "common/sync/cancellation.h"
#include "common/sync/thread.h"

namespace headrace {

class ShutdownSignal {
 public:
  ShutdownSignal();
  // The thread ends. The signals stay blocked: by now the process is about to exit.
  ~ShutdownSignal();
  ShutdownSignal(const ShutdownSignal&) = delete;
  ShutdownSignal& operator=(const ShutdownSignal&) = delete;

  CancellationToken token() const { return source_.token(); }

  // For a child process between fork and exec, which inherits what is blocked and ignored: back to
  // the defaults. Async-signal-safe.
  static void ResetInChild();

 private:
  void Run();

  CancellationSource source_;
  int signals_fd_ = -1;
  int stop_fd_ = -1;
  Thread thread_;
};

}  // namespace headrace
