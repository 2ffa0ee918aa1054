// The Loader where `ordering: deterministic`: frames are taken lane by lane instead of as they
// come.
#include <utility>

#include "client/loader_core.h"
#include "common/status.h"

namespace headrace {

absl::Status LoaderCore::BeginSequence(uint64_t epoch, const v1::StartEpochReply& reply) {
  if (sequence_ == nullptr) return absl::OkStatus();
  const v1::OrderedPosition* at = reply.lane_windows().empty() ? nullptr : ResumeAt(epoch);
  const std::vector<uint64_t> windows(reply.lane_windows().begin(), reply.lane_windows().end());
  HR_RETURN_IF_ERROR(sequence_->Begin(epoch, windows, at));
  resume_.reset();
  return absl::OkStatus();
}

const v1::OrderedPosition* LoaderCore::ResumeAt(uint64_t epoch) const {
  return resume_ && resume_->epoch() == epoch && resume_->lanes_size() != 0 ? &*resume_ : nullptr;
}

absl::StatusOr<v1::OrderedPosition> LoaderCore::position() const {
  absl::MutexLock lock(&mutex_);
  if (sequence_ == nullptr) {
    return FailedPrecondition("job '{}' is not ordered: open it with ordering deterministic",
                              job_.job_name());
  }
  return Place();
}

v1::OrderedPosition LoaderCore::Place() const {
  if (in_epoch_ || left_) return sequence_->position();
  if (resume_) return *resume_;
  v1::OrderedPosition start;
  start.set_epoch(next_epoch_);
  return start;
}

absl::Status LoaderCore::SetPosition(const v1::OrderedPosition& position) {
  absl::MutexLock lock(&mutex_);
  if (sequence_ == nullptr) {
    return FailedPrecondition("job '{}' is not ordered: open it with ordering deterministic",
                              job_.job_name());
  }
  if (in_epoch_ && !epoch_finished_) {
    return FailedPrecondition("job '{}': epoch {} is being read; set the place before it is begun",
                              job_.job_name(), epoch_);
  }
  resume_ = position;
  next_epoch_ = position.epoch();
  return absl::OkStatus();
}

void LoaderCore::AddWindows(v1::ClientBeatRequest& request) {
  windows_told_ = sequence_->windows();
  v1::TaskRuns& passed = *request.add_dropped();  // of no task: windows by lane
  for (size_t lane = 0; lane < windows_told_.size(); ++lane) {
    v1::Run& run = *passed.add_runs();
    run.set_split(lane);
    run.set_first(windows_told_[lane]);
    run.set_count(1);
  }
}

absl::StatusOr<std::shared_ptr<const FrameView>> LoaderCore::NextOf(uint32_t lane) {
  return lanes_->Next(
      lane, [](uint64_t) {},
      [this](uint64_t task) {
        mutex_.AssertHeld();
        streams_.Break(task);  // its work is made again
        beat_now_ = true;
        beat_.Signal();
      });
}

absl::StatusOr<std::optional<Element>> LoaderCore::TakeOrdered() {
  while (true) {
    HR_ASSIGN_OR_RETURN(std::optional<OrderedSequence::Ready> ready, sequence_->Pop());
    if (ready) {
      for (const auto& [task, runs] : ready->delivered) tracker_.Delivered(task, runs);
      for (const auto& [task, runs] : ready->dropped) tracker_.Dropped(task, runs);
      if (ready->frame == nullptr) continue;
      ++epoch_elements_;
      ++stats_.elements;
      stats_.bytes += ready->frame->bytes();
      return Element(std::move(ready->frame), 0);
    }
    const std::optional<uint32_t> lane = sequence_->lane();
    if (!lane) return std::nullopt;
    HR_ASSIGN_OR_RETURN(std::shared_ptr<const FrameView> frame, NextOf(*lane));
    const bool came = frame != nullptr;
    if (came) {
      HR_RETURN_IF_ERROR(sequence_->Take(std::move(frame)));
      lanes_->LetGo(*lane, [](uint64_t) {});
    }
    GrantCredit();
    if (!came) return std::nullopt;
  }
}

}  // namespace headrace
