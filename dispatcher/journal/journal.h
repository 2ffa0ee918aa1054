// Where the dispatcher's events are kept. A driver is one file of this folder. The service appends
// under its mutex and waits outside of it, so that a driver can commit the events of many calls
// with one write (group commit). Snapshots bound what has to be replayed.
//
// Append and WaitDurable are called by many threads; Replay before all of them, once; Compact by
// one thread at a time, beside the others.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "headrace/v1/journal.pb.h"

namespace headrace {

class Journal {
 public:
  virtual ~Journal() = default;

  // Who takes what is kept. The first error of either ends the replay and is returned.
  struct Reader {
    // The chunks of the latest snapshot, in order; none where there is no snapshot.
    absl::FunctionRef<absl::Status(std::string_view chunk)> chunk;
    // Then every event behind it, oldest first.
    absl::FunctionRef<absl::Status(const v1::Event& event)> event;
  };
  // DATA_LOSS names file and offset (or what else says where) of damage that is not a torn tail
  // (that is cut, and said in the log): nothing of a damaged journal is passed over.
  virtual absl::Status Replay(const Reader& reader) = 0;

  // Takes events over, after all earlier ones; returns the position behind them (of none: where
  // the journal ends). Never blocks, cannot fail: failure shows in WaitDurable. The events of one
  // call may end up in several writes: a crash may keep the first ones alone.
  virtual uint64_t Append(std::vector<v1::Event> events) = 0;
  // Returns when everything before `position` would survive a crash. An error is for good: nothing
  // after the last position that was found durable is, and the dispatcher must stop.
  virtual absl::Status WaitDurable(uint64_t position) = 0;

  // So much was appended since the last snapshot that another one is worth its while.
  virtual bool WantsCompaction() const = 0;
  // Keeps a snapshot of what the events before `position` make, and forgets those events. `next`
  // gives its chunks, each a value of about half a MiB, and false when there are no more. A crash
  // at any time leaves the old snapshot with its events, or the new one. Takes its time: Append
  // and WaitDurable go on beside it. After an error the journal is as if it had not been called,
  // and it may be called again. Precondition: WaitDurable(position) was OK.
  virtual absl::Status Compact(uint64_t position,
                               absl::FunctionRef<bool(std::string& chunk)> next) = 0;
};

}  // namespace headrace
