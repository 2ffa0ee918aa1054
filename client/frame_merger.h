// The frames that arrived and were not handed over, a queue per task, taken in turn; and the credit
// that keeps their bytes within the prefetch budget. Thread-free: the Loader calls it under its
// mutex.
//
// Each task may have budget / tasks bytes held or under way, and all together the budget, give or
// take one frame a task: a frame larger than the credit left still comes, and a task that has
// nothing always gets a little. Credit comes back as frames are used up, so a slow task never
// starves a fast one.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>

#include "element/frame_reader.h"

namespace headrace {

class FrameMerger {
 public:
  explicit FrameMerger(uint64_t budget) : budget_(budget) {}

  void AddTask(uint64_t task) { lines_.try_emplace(task); }
  // Its frames go, too.
  void RemoveTask(uint64_t task);
  // The task sends nothing more; what it sent stays, and it is forgotten when that is used up.
  void EndTask(uint64_t task);
  void Clear() {
    lines_.clear();
    held_bytes_ = 0;
  }

  // False: the task is unknown (fenced, removed), the frame is dropped.
  bool Push(uint64_t task, std::shared_ptr<const FrameView> frame);
  // A row of the next task that has one, round robin by frame. Frames are used up row by row.
  struct Row {
    uint64_t task;
    std::shared_ptr<const FrameView> frame;
    size_t row;
  };
  std::optional<Row> Pop();
  // Ordered: the task's next frame, ones without rows too; null: none.
  std::shared_ptr<const FrameView> Front(uint64_t task) const;
  std::shared_ptr<const FrameView> PopFrame(uint64_t task);
  // A frame that arrived and is not wanted: its credit comes back.
  void Discard(uint64_t task, uint64_t bytes);

  // Bytes of credit to grant to `task` now; counts as granted. Batched up: 0 until a quarter of its
  // share is free.
  uint64_t TakeCredit(uint64_t task);
  // The same for all tasks: grant(task, bytes) returns whether the task has a stream that took it.
  template <typename Grant>
  void GiveCredit(Grant grant) {
    uint64_t total = Total();
    for (auto& [task, line] : lines_) {
      const uint64_t due = Due(line, total);
      if (due == 0 || !grant(task, due)) continue;
      line.under_way += static_cast<int64_t>(due);
      total += due;
    }
  }
  // The stream that the task's credit was granted to is gone.
  void ForgetCredit(uint64_t task);

  // Instead of the budget: a frame at a time from each task, as long as fewer than `frames` are
  // held. 0: by the budget.
  void SetFrameLimit(uint64_t frames) { frame_limit_ = frames; }
  // Held, and not handed over.
  uint64_t rows() const;
  uint64_t records() const;

  bool empty() const { return held_bytes_ == 0; }
  uint64_t held_bytes() const { return held_bytes_; }
  double fill() const {
    return budget_ == 0
               ? 0
               : std::min(1.0, static_cast<double>(held_bytes_) / static_cast<double>(budget_));
  }

 private:
  struct Line {
    std::deque<std::shared_ptr<const FrameView>> frames;
    size_t row = 0;         // next one of frames.front()
    int64_t under_way = 0;  // granted and not arrived; below 0 after a frame larger than its credit
    uint64_t held = 0;
    bool ended = false;
  };
  uint64_t Share() const;
  // Held and under way, all tasks together.
  uint64_t Total() const;
  uint64_t Due(const Line& line, uint64_t total) const;

  const uint64_t budget_;
  uint64_t frame_limit_ = 0;
  std::map<uint64_t, Line> lines_;
  uint64_t last_task_ = 0;  // that a row was taken from
  uint64_t held_bytes_ = 0;
};

}  // namespace headrace
