#include "worker/output_router.h"

#include <utility>

#include "common/status.h"
#include "element/frame_writer.h"

namespace headrace {

void OutputRouter::Add(std::shared_ptr<FrameStream> stream) {
  absl::MutexLock lock(&mutex_);
  lines_.push_back({std::move(stream), 0});
}

uint64_t OutputRouter::Remove(const FrameStream* stream) {
  absl::MutexLock lock(&mutex_);
  for (size_t i = 0; i < lines_.size(); ++i) {
    if (lines_[i].stream.get() != stream) continue;
    const uint64_t sent = lines_[i].sent;
    lines_.erase(lines_.begin() + static_cast<ptrdiff_t>(i));
    return sent;
  }
  return 0;
}

void OutputRouter::CloseAll(const absl::Status& status) {
  std::vector<Line> lines;
  {
    absl::MutexLock lock(&mutex_);
    lines.swap(lines_);
  }
  for (Line& line : lines) line.stream->Close(status);
}

size_t OutputRouter::NextWritable() const {
  for (size_t i = 0; i < lines_.size(); ++i) {
    const size_t at = (next_ + i) % lines_.size();
    if (lines_[at].stream->Writable()) return at;
  }
  return lines_.size();
}

absl::Status OutputRouter::Pump(OutputQueue& output) {
  absl::MutexLock lock(&mutex_);
  while (true) {
    const size_t at = NextWritable();
    if (at == lines_.size()) return absl::OkStatus();
    std::optional<Block> block = output.TryPop();
    if (!block) return absl::OkStatus();
    Line& line = lines_[at];
    FrameMeta meta;
    meta.task = task_;
    meta.epoch = epoch_;
    meta.batched = batched_;
    meta.sequence = line.sent;
    HR_ASSIGN_OR_RETURN(Frame frame, WriteFrame(*block, meta));
    ++line.sent;
    line.stream->Write(std::move(frame));
    next_ = (at + 1) % lines_.size();
  }
}

}  // namespace headrace
