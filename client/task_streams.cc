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
  for (auto& [task, stream] : streams_) dropped.push_back(std::move(stream.handle));
  streams_.clear();
}

std::vector<TaskStreams::Opening> TaskStreams::TakeDue(absl::Duration now) {
  std::vector<Opening> due;
  for (auto& [task, stream] : streams_) {
    if (stream.state != State::kDue || stream.due > now) continue;
    stream.state = State::kOpen;
    due.push_back({task, ++stream.attempt, stream.address});
  }
  return due;
}

bool TaskStreams::Opened(const Opening& opening, std::unique_ptr<IncomingFrames>& handle) {
  const auto it = streams_.find(opening.task);
  if (it == streams_.end() || it->second.attempt != opening.attempt ||
      it->second.state == State::kBroken)
    return false;
  std::swap(it->second.handle, handle);  // an earlier attempt's goes with the caller's
  return true;
}

void TaskStreams::Closed(uint64_t task, uint64_t attempt, const absl::Status& status,
                         absl::Duration now) {
  const auto it = streams_.find(task);
  if (it == streams_.end() || it->second.attempt != attempt) return;
  Stream& stream = it->second;
  if (status.ok()) {
    stream.state = State::kEnded;
  } else if (absl::IsFailedPrecondition(status) && now - stream.since < kPatience) {
    // The worker refused before it sent anything: it has not heard of the task yet.
    stream.state = State::kDue;
    stream.due = now + kRetry;
  } else {
    stream.state = State::kBroken;
  }
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
