// Ordered epochs: which of the held frames is next, from whichever task of its lane has it.
//
// A lane that went on elsewhere was made again there from an earlier place, so two tasks may have
// sent the same frames. One of them is used; the other is let go as soon as the sequence is past
// it, whether its lane has its turn, or ever will: else it would keep its stream's credit, and with
// that a worker from which another rank waits for frames that this one has had.
//
// Thread-free: the Loader calls it under its mutex. It owns nothing: frames are the merger's.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "client/frame_merger.h"
#include "client/ordered_sequence.h"

namespace headrace {

class LaneFrames {
 public:
  // Called for each task that lost a frame: it has credit again.
  using Used = absl::FunctionRef<void(uint64_t task)>;

  LaneFrames(FrameMerger& held, const OrderedSequence& sequence)
      : held_(held), sequence_(sequence) {}

  // Another epoch.
  void Clear() { tasks_.clear(); }
  // The dispatcher lists the task.
  void Listed(uint64_t task, uint32_t lane) { tasks_[lane].insert(task); }

  // The sequence is past it: not to be held.
  bool Known(const FrameView& frame) const;

  // The next frame of `lane`; null while it has not come. DATA_LOSS: a frame without a place in the
  // lane that its task is of. `gap`: a task whose frames do not go on from where the sequence is;
  // what lies between went to a stream that is gone, so its frames were dropped, and its stream
  // counts as broken.
  absl::StatusOr<std::shared_ptr<const FrameView>> Next(uint32_t lane, Used used,
                                                        absl::FunctionRef<void(uint64_t task)> gap);
  // The sequence moved on in `lane`: frames that it is past now go.
  void LetGo(uint32_t lane, Used used);

 private:
  FrameMerger& held_;
  const OrderedSequence& sequence_;
  std::map<uint32_t, std::set<uint64_t>> tasks_;  // by lane
};

}  // namespace headrace
