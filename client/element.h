// What Loader::Next hands out: one row of a frame (a batch, or one element of an unbatched stream).
// Borrows the frame and keeps it alive; cheap to copy. Immutable, thread-safe.
#pragma once

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "element/frame_reader.h"

namespace headrace {

class Element {
 public:
  Element(std::shared_ptr<const FrameView> frame, size_t row)
      : frame_(std::move(frame)), row_(row) {}

  // Fields by position; name() and dtype() are the same for all elements of a stream.
  size_t size() const { return frame_->columns(); }
  std::string_view name(size_t field) const { return frame_->name(field); }
  TensorView at(size_t field) const { return frame_->at(field, row_); }
  // Position of `name`, or size().
  size_t Find(std::string_view name) const { return frame_->Find(name); }

  // The tensors' first dimension counts records.
  bool batched() const { return frame_->batched(); }
  // Where it came from: the identities of its records.
  std::vector<Run> runs() const {
    std::vector<Run> out;
    frame_->AppendRuns(row_, row_ + 1, out);
    return out;
  }
  uint64_t records() const {
    uint64_t n = 0;
    for (const Run& run : runs()) n += run.count;
    return n;
  }
  uint64_t task() const { return frame_->task(); }
  // Of the whole frame, its other rows too.
  const std::shared_ptr<const FrameView>& frame() const { return frame_; }

 private:
  std::shared_ptr<const FrameView> frame_;
  size_t row_;
};

}  // namespace headrace
