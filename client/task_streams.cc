#include "client/task_streams.h"

#include <utility>

namespace headrace {
namespace {

constexpr absl::Duration kRetry = absl::Milliseconds(20);
// A worker hears of its tasks within a beat or two; one that still refuses after that will not.
constexpr absl::Duration kPatience = absl::Seconds(5);

}  // namespace

void TaskStreams::Remove(uint64_t task, Handles& dropped) {
  const auto it = streams_.find(task);
  if (it == streams_.end()) return;
  dropped.push_back(std::move(it->second.handle));
  streams_.erase(it);
}

void TaskStreams::Clear(Handles& dropped) {
  for (auto& [task, stream] : streams_) {
    if (stream.attempt != 0) cleared_.insert(task);
    dropped.push_back(std::move(stream.handle));
  }
  streams_.clear();
}

std::vector<TaskStreams::Opening> TaskStreams::TakeDue(absl::Duration now) {
  std::vector<Opening> due;
  for (auto& [task, stream] : streams_) {
    if (stream.state != State::kDue || stream.due > now) continue;
    stream.state = State::kOpen;
    stream.received = 0;
    stream.attempt = ++attempts_;
    due.push_back({task, stream.attempt, stream.worker});
  }
  return due;
}

bool TaskStreams::Wanted(const Opening& opening) const {
  const auto it = streams_.find(opening.task);
  return it != streams_.end() && it->second.attempt == opening.attempt &&
         it->second.state == State::kOpen;
}

void TaskStreams::Opened(const Opening& opening, std::unique_ptr<IncomingFrames>& handle) {
  const auto it = streams_.find(opening.task);
  if (it == streams_.end() || it->second.attempt != opening.attempt ||
      it->second.state == State::kBroken) {
    return;
  }
  std::swap(it->second.handle, handle);  // an earlier attempt's goes with the caller's
}

bool TaskStreams::Received(uint64_t task, uint64_t attempt, uint64_t sequence) {
  const auto it = streams_.find(task);
  if (it == streams_.end() || it->second.attempt != attempt || it->second.state != State::kOpen)
    return false;
  if (sequence == it->second.received) {
    ++it->second.received;
    return true;
  }
  it->second.state = State::kBroken;
  return false;
}

void TaskStreams::Break(uint64_t task) {
  const auto it = streams_.find(task);
  if (it != streams_.end()) it->second.state = State::kBroken;
}

bool TaskStreams::Closed(uint64_t task, uint64_t attempt, const absl::Status& status,
                         absl::Duration now) {
  const auto it = streams_.find(task);
  if (it == streams_.end() || it->second.attempt != attempt) return false;
  Stream& stream = it->second;
  if (stream.state == State::kBroken) return true;
  if (status.ok()) {
    stream.state = State::kEnded;
  } else if (absl::IsFailedPrecondition(status) && stream.received == 0 &&
             now - stream.since < kPatience) {
    // The worker refused before it sent anything: it has not heard of the task yet.
    stream.state = State::kDue;
    stream.due = now + kRetry;
  } else {
    stream.state = State::kBroken;
  }
  return true;
}

IncomingFrames* TaskStreams::Find(uint64_t task) const {
  const auto it = streams_.find(task);
  return it == streams_.end() || it->second.state != State::kOpen ? nullptr
                                                                  : it->second.handle.get();
}

std::vector<uint64_t> TaskStreams::Broken() const {
  std::vector<uint64_t> broken;
  for (const auto& [task, stream] : streams_) {
    if (stream.state == State::kBroken) broken.push_back(task);
  }
  return broken;
}

bool TaskStreams::AnyBroken() const {
  for (const auto& [task, stream] : streams_) {
    if (stream.state == State::kBroken) return true;
  }
  return false;
}

bool TaskStreams::ended(uint64_t task) const {
  const auto it = streams_.find(task);
  return it != streams_.end() && it->second.state == State::kEnded;
}

absl::Duration TaskStreams::NextDue() const {
  absl::Duration next = absl::InfiniteDuration();
  for (const auto& [task, stream] : streams_) {
    if (stream.state == State::kDue) next = std::min(next, stream.due);
  }
  return next;
}

}  // namespace headrace
