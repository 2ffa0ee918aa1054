#include "dispatcher/journal/memory_journal.h"

#include <iterator>

#include "common/status.h"

namespace headrace {

absl::Status MemoryJournal::Replay(absl::FunctionRef<absl::Status(const v1::Event&)> apply) {
  absl::MutexLock lock(&mutex_);
  for (size_t i = 0; i < events_.size(); ++i) {
    if (absl::Status status = apply(events_[i]); !status.ok()) {
      return Annotate(status, fmt::format("journal event {}", i));
    }
  }
  return absl::OkStatus();
}

uint64_t MemoryJournal::Append(std::vector<v1::Event> events) {
  absl::MutexLock lock(&mutex_);
  position_ += events.size();
  if (keep_) {
    events_.insert(events_.end(), std::make_move_iterator(events.begin()),
                   std::make_move_iterator(events.end()));
  }
  return position_;
}

absl::Status MemoryJournal::WaitDurable(uint64_t) { return absl::OkStatus(); }

}  // namespace headrace
