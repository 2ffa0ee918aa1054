// What the worker still has to tell the dispatcher: split reports and task errors, numbered until
// acknowledged. Thread-free logic: the beat loop owns it and calls it under its own lock; the
// simulation drives it as it is.
//
// Delivery is at least once: a report goes out with every beat until its number is acknowledged,
// and the dispatcher takes the union, so a lost or doubled beat changes nothing.
#pragma once

#include <cstdint>
#include <deque>

#include "headrace/v1/dispatcher.pb.h"

namespace headrace {

class ReportLog {
 public:
  // Takes a report over. Order within a task is kept.
  void Add(v1::SplitReport report);
  void Add(v1::TaskError error);

  // Fills `request`'s splits, errors and report_number with all that is unacknowledged, at most
  // `max_splits` reports (the rest goes with the next beat). Every call that has something new to
  // tell gets a number of its own.
  void Fill(v1::WorkerBeatRequest& request, size_t max_splits = 4096);

  // The dispatcher has what went out under `report_number` and before.
  void Acknowledge(uint64_t report_number);

  // Everything is acknowledged.
  bool empty() const { return entries_.empty(); }
  // A dispatcher that does not know us forgot our tasks: their reports mean nothing any more.
  void Clear() { entries_.clear(); }
  // Forgets what concerns a task that is over (stopped or fenced).
  void Drop(uint64_t task);

 private:
  struct Entry {
    uint64_t first_sent = 0;  // report number it first went out under; 0: not yet
    v1::SplitReport split;
    v1::TaskError error;
    bool is_error = false;
  };
  std::deque<Entry> entries_;
  uint64_t last_number_ = 0;
};

}  // namespace headrace
