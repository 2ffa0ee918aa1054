#include "dispatcher/journal/commit_queue.h"

#include <utility>

namespace headrace {

void CommitQueue::Start(uint64_t position, Commit commit) {
  {
    absl::MutexLock lock(&mutex_);
    position_ = durable_ = position;
  }
  committer_ = Thread("hr-journal", [this, commit = std::move(commit)]() mutable { Loop(commit); });
}

void CommitQueue::Stop() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
    appended_.Signal();
  }
  committer_.Join();
}

uint64_t CommitQueue::Append(std::vector<v1::Event> events) {
  absl::MutexLock lock(&mutex_);
  position_ += events.size();
  if (events.empty() || !failure_.ok()) return position_;  // WaitDurable tells
  if (queue_.empty()) {
    queue_ = std::move(events);
  } else {
    for (v1::Event& event : events) queue_.push_back(std::move(event));
  }
  appended_.Signal();
  return position_;
}

absl::Status CommitQueue::WaitDurable(uint64_t position) {
  absl::MutexLock lock(&mutex_);
  while (durable_ < position && failure_.ok()) committed_.Wait(&mutex_);
  return durable_ >= position ? absl::OkStatus() : failure_;
}

uint64_t CommitQueue::durable() const {
  absl::MutexLock lock(&mutex_);
  return durable_;
}

void CommitQueue::Loop(Commit& commit) {
  std::vector<v1::Event> events;
  size_t next = 0;
  uint64_t position = 0;
  while (true) {
    if (next == events.size()) {
      absl::MutexLock lock(&mutex_);
      while (queue_.empty() && !stopping_) appended_.Wait(&mutex_);
      if (queue_.empty()) return;
      events = std::exchange(queue_, {});
      position = position_ - events.size();
      next = 0;
    }
    const absl::StatusOr<size_t> kept = commit(std::span(events).subspan(next), position);
    absl::MutexLock lock(&mutex_);
    if (kept.ok()) {
      next += *kept;
      position += *kept;
      durable_ = position;
    } else {
      failure_ = kept.status();
      queue_.clear();
    }
    committed_.SignalAll();
    if (!kept.ok()) return;
  }
}

}  // namespace headrace
