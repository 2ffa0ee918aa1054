// The client's streams of one epoch, one per task: opened as the dispatcher lists tasks, tried
// again while a worker has not heard of its task, given up as broken when they end otherwise.
// Thread-free but for the transport behind it: the Loader calls it under its mutex, and lets
// handles that it gives back go without it (their destructors may call back).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
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
    std::string address;
  };
  using Handles = std::vector<std::unique_ptr<IncomingFrames>>;

  // The dispatcher's list. New tasks become due; handles of tasks that are gone are moved to
  // `dropped`. `fenced(task)`: not to be opened.
  template <typename Fenced>
  std::vector<uint64_t> SetTasks(const v1::ClientBeatReply& reply, Fenced fenced,
                                 absl::Duration now, Handles& dropped) {
    std::map<uint64_t, Stream> kept;
    std::vector<uint64_t> added;
    for (const v1::TaskAddress& task : reply.tasks()) {
      if (fenced(task.task())) continue;
      auto it = streams_.find(task.task());
      if (it != streams_.end()) {
        kept.insert(streams_.extract(it));
        continue;
      }
      kept[task.task()] = {task.address(), nullptr, State::kDue, now, now, 0};
      added.push_back(task.task());
    }
    for (auto& [id, stream] : streams_) dropped.push_back(std::move(stream.handle));
    streams_ = std::move(kept);
    return added;
  }
  // Fenced: its handle is moved to `dropped`.
  void Remove(uint64_t task, Handles& dropped);
  void Clear(Handles& dropped);

  // Streams to open now; they count as opening.
  std::vector<Opening> TakeDue(absl::Duration now);
  // The handle of an opening that was taken. False: it is not wanted any more, drop it.
  bool Opened(const Opening& opening, std::unique_ptr<IncomingFrames>& handle);
  // The transport says that the attempt ended.
  void Closed(uint64_t task, uint64_t attempt, const absl::Status& status, absl::Duration now);

  // Null when it is not open.
  IncomingFrames* Find(uint64_t task) const;
  // Tasks whose stream broke: frames may be lost in it.
  std::vector<uint64_t> Broken() const;
  bool ended(uint64_t task) const;
  // When a retry is due; InfiniteDuration when none is.
  absl::Duration NextDue() const;

 private:
  enum class State { kDue, kOpen, kEnded, kBroken };
  struct Stream {
    std::string address;
    std::unique_ptr<IncomingFrames> handle;
    State state = State::kDue;
    absl::Duration since;  // first tried
    absl::Duration due;
    uint64_t attempt = 0;
  };
  std::map<uint64_t, Stream> streams_;
};

}  // namespace headrace
