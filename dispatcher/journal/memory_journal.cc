#include "dispatcher/journal/memory_journal.h"

#include <iterator>
#include <utility>

#include "common/status.h"

namespace headrace {

absl::Status MemoryJournal::Replay(const Reader& reader) {
  absl::MutexLock lock(&mutex_);
  for (const std::string& chunk : chunks_) {
    if (absl::Status status = reader.chunk(chunk); !status.ok()) {
      return Annotate(status, fmt::format("journal snapshot at {}", first_));
    }
  }
  for (size_t i = 0; i < events_.size(); ++i) {
    if (absl::Status status = reader.event(events_[i]); !status.ok()) {
      return Annotate(status, fmt::format("journal event {}", first_ + i));
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

absl::Status MemoryJournal::Compact(uint64_t position, absl::FunctionRef<bool(std::string&)> next) {
  if (!keep_) return absl::OkStatus();
  std::vector<std::string> chunks;
  for (std::string chunk; next(chunk);) chunks.push_back(std::move(chunk));
  absl::MutexLock lock(&mutex_);
  if (position < first_ || position > position_) {
    return InvalidArgument("a snapshot at {} of a journal from {} to {}", position, first_,
                           position_);
  }
  chunks_ = std::move(chunks);
  events_.erase(events_.begin(), events_.begin() + static_cast<ptrdiff_t>(position - first_));
  first_ = position;
  return absl::OkStatus();
}

}  // namespace headrace
