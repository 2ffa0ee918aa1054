#include "client/lane_frames.h"

#include "common/status.h"

namespace headrace {

bool LaneFrames::Known(const FrameView& frame) const {
  return frame.place() && sequence_.FitOf(*frame.place()) == OrderedSequence::Fit::kKnown;
}

absl::StatusOr<std::shared_ptr<const FrameView>> LaneFrames::Next(
    uint32_t lane, Used used, absl::FunctionRef<void(uint64_t task)> gap) {
  for (const uint64_t task : tasks_[lane]) {
    while (const std::shared_ptr<const FrameView> frame = held_.Front(task)) {
      if (!frame->place() || frame->place()->lane != lane) {
        return DataLoss("a frame of task {} has no place in lane {}", task, lane);
      }
      const OrderedSequence::Fit fit = sequence_.FitOf(*frame->place());
      if (fit == OrderedSequence::Fit::kGap) {
        held_.RemoveTask(task);
        gap(task);
        break;
      }
      held_.PopFrame(task);
      used(task);
      if (fit == OrderedSequence::Fit::kNext) return frame;
    }
  }
  return nullptr;
}

void LaneFrames::LetGo(uint32_t lane, Used used) {
  const auto it = tasks_.find(lane);
  if (it == tasks_.end()) return;
  for (const uint64_t task : it->second) {
    // A task's frames come in the order of their places.
    while (const std::shared_ptr<const FrameView> frame = held_.Front(task)) {
      if (!Known(*frame)) break;
      held_.PopFrame(task);
      used(task);
    }
  }
}

}  // namespace headrace
