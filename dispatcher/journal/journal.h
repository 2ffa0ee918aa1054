// Where the dispatcher's events are kept. A driver is one file of this folder. The service appends
// under its mutex and waits outside of it, so that a driver can commit the events of many calls
// with one write (group commit).
//
// Append and WaitDurable are called by many threads; Replay before all of them, once.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "headrace/v1/journal.pb.h"

namespace headrace {

class Journal {
 public:
  virtual ~Journal() = default;
  // Hands every kept event to `apply`, oldest first; stops at its first error and returns it.
  // DATA_LOSS names file and offset of damage that is not a torn tail (that is cut and reported).
  virtual absl::Status Replay(absl::FunctionRef<absl::Status(const v1::Event& event)> apply) = 0;
  // Takes events over, after all earlier ones; returns the position behind them. Never blocks,
  // cannot fail: failure shows in WaitDurable.
  virtual uint64_t Append(std::vector<v1::Event> events) = 0;
  // Returns when everything before `position` would survive a crash. An error is for good: nothing
  // after the last position that was found durable is, and the dispatcher must stop.
  virtual absl::Status WaitDurable(uint64_t position) = 0;
};

}  // namespace headrace
