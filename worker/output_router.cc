#include "worker/output_router.h"

#include <utility>

#include "common/status.h"
#include "element/frame_writer.h"

namespace headrace {

void OutputRouter::Add(std::shared_ptr<FrameStream> stream) {
  absl::MutexLock lock(&mutex_);
  lines_.push_back({std::move(stream), 0});
}

void OutputRouter::Remove(const FrameStream* stream) {
  absl::MutexLock lock(&mutex_);
  std::erase_if(lines_, [stream](const Line& line) { return line.stream.get() == stream; });
}

void OutputRouter::FinishAll() {
  std::vector<Line> lines;
  {
    absl::MutexLock lock(&mutex_);
    lines.swap(lines_);
  }
  for (Line& line : lines) line.stream->Finish(absl::OkStatus());
}

size_t OutputRouter::NextReady() const {
  for (size_t i = 0; i < lines_.size(); ++i) {
    const size_t at = (next_ + i) % lines_.size();
    if (lines_[at].stream->ready()) return at;
  }
  return lines_.size();
}

absl::Status OutputRouter::Pump(OutputQueue& output) {
  absl::MutexLock lock(&mutex_);
  while (true) {
    const size_t at = NextReady();
    if (at == lines_.size()) return absl::OkStatus();
    if (!held_) held_ = output.TryPop();
    if (!held_) return absl::OkStatus();
    Line& line = lines_[at];
    FrameMeta meta;
    meta.task = task_;
    meta.epoch = epoch_;
    meta.batched = batched_;
    meta.sequence = line.sent;
    HR_ASSIGN_OR_RETURN(Frame frame, WriteFrame(*held_, meta));
    next_ = (at + 1) % lines_.size();
    if (!line.stream->TryWrite(frame)) continue;  // it closed just now
    ++line.sent;
    held_.reset();
  }
}

}  // namespace headrace
