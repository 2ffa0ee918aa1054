// The client's streams of one epoch, one per task: opened as the dispatcher lists tasks, tried
// again while a worker has not heard of its task, given up as broken when they end otherwise.
// Thread-free but for the transport behind it: the Loader calls it under its mutex, and lets
// handles that it gives back go without it (their destructors may call back).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "headrace/v1/dispatcher.pb.h"
#include "transport/frame_connector.h"

namespace headrace {

class TaskStreams {
 public:
  // What the owner must do without its mutex.
  struct Opening {
    uint64_t task;
    uint64_t attempt;
    WorkerEndpoint worker;
  };
  using Handles = std::vector<std::unique_ptr<IncomingFrames>>;

  // The dispatcher's list. New tasks become due; handles of tasks that are gone are moved to
  // `dropped`. `fenced(task)`: not to be opened.
  struct Change {
    std::vector<uint64_t> added;
    std::vector<uint64_t> gone;  // send nothing more
  };
  template <typename Fenced>
  Change SetTasks(const google::protobuf::RepeatedPtrField<v1::TaskAddress>& tasks, Fenced fenced,
                  absl::Duration now, Handles& dropped) {
    std::map<uint64_t, Stream> kept;
    Change change;
    for (const v1::TaskAddress& task : tasks) {
      if (fenced(task.task())) continue;
      auto it = streams_.find(task.task());
      if (it != streams_.end()) {
        kept.insert(streams_.extract(it));
        continue;
      }
      Stream& stream = kept[task.task()];
      stream.worker = {task.address(), {task.transports().begin(), task.transports().end()}};
      stream.since = stream.due = now;
      if (cleared_.contains(task.task())) stream.state = State::kBroken;
      change.added.push_back(task.task());
    }
    for (auto& [id, stream] : streams_) {
      dropped.push_back(std::move(stream.handle));
      change.gone.push_back(id);
    }
    streams_ = std::move(kept);
    return change;
  }
  // Fenced: its handle is moved to `dropped`.
  void Remove(uint64_t task, Handles& dropped);
  // All of them. One that is listed again all the same is broken: what it sent meanwhile is lost.
  void Clear(Handles& dropped);

  // Streams to open now; they count as opening.
  std::vector<Opening> TakeDue(absl::Duration now);
  // It has not been fenced, left out or taken back since TakeDue.
  bool Wanted(const Opening& opening) const;
  // The handle of an opening. What is left in `handle` is to be dropped.
  void Opened(const Opening& opening, std::unique_ptr<IncomingFrames>& handle);
  // A frame came in that attempt. False: it is not to be used. A sequence number that was left out
  // breaks the stream: the frames in between are lost.
  bool Received(uint64_t task, uint64_t attempt, uint64_t sequence);
  // Frames of it are missing, for the owner knows their order: its stream is broken.
  void Break(uint64_t task);
  // The transport says that the attempt ended. False: it was not the present one.
  bool Closed(uint64_t task, uint64_t attempt, const absl::Status& status, absl::Duration now);

  // Null when it is not open.
  IncomingFrames* Find(uint64_t task) const;
  // Tasks whose stream broke: frames may be lost in it.
  std::vector<uint64_t> Broken() const;
  bool AnyBroken() const;
  bool ended(uint64_t task) const;
  // When a retry is due; InfiniteDuration when none is.
  absl::Duration NextDue() const;

 private:
  enum class State { kDue, kOpen, kEnded, kBroken };
  struct Stream {
    WorkerEndpoint worker;
    std::unique_ptr<IncomingFrames> handle;
    State state = State::kDue;
    absl::Duration since;  // first tried
    absl::Duration due;
    uint64_t attempt = 0;
    uint64_t received = 0;  // frames of this attempt
  };
  std::map<uint64_t, Stream> streams_;
  std::set<uint64_t> cleared_;
  uint64_t attempts_ = 0;  // never the same number again, whatever was cleared in between
};

}  // namespace headrace
