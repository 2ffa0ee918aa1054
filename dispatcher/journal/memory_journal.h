// The driver `memory`: nothing survives the process. For embedded clusters, tests and the
// simulation.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "dispatcher/journal/journal.h"

namespace headrace {

class MemoryJournal final : public Journal {
 public:
  // `keep`: holds snapshot and events, for a Replay in the same process; else only counts them, so
  // that memory stays bounded.
  explicit MemoryJournal(bool keep = false) : keep_(keep) {}

  absl::Status Replay(const Reader& reader) override;
  uint64_t Append(std::vector<v1::Event> events) override;
  absl::Status WaitDurable(uint64_t position) override;
  // Never: a test that means it calls Compact.
  bool WantsCompaction() const override { return false; }
  absl::Status Compact(uint64_t position, absl::FunctionRef<bool(std::string&)> next) override;

 private:
  const bool keep_;
  absl::Mutex mutex_;
  std::vector<std::string> chunks_ ABSL_GUARDED_BY(mutex_);  // of the snapshot
  uint64_t first_ ABSL_GUARDED_BY(mutex_) = 0;               // position of events_[0]
  std::vector<v1::Event> events_ ABSL_GUARDED_BY(mutex_);
  uint64_t position_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace headrace
