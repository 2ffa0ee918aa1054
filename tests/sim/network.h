// The network between processes. Calls to the dispatcher are delayed, lost, doubled and overtaken;
// streams of frames are ordered until they break. Two of them may be cut off from each other: what
// is under way then is lost, or arrives when they are joined again, as TCP has it.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/status.h"
#include "dispatcher/service.h"
#include "element/frame_reader.h"
#include "element/provenance.h"
#include "tests/sim/history.h"
#include "tests/sim/random.h"
#include "tests/sim/scheduler.h"

namespace headrace::sim {

class Process;

class Network {
 public:
  Network(Scheduler& scheduler, Random& random, const History& history)
      : scheduler_(scheduler), random_(random), history_(history) {}

  // Null: it is down, calls are lost.
  void SetDispatcher(DispatcherService* dispatcher) { dispatcher_ = dispatcher; }
  void StopFaults() { faults_ = false; }

  // Null stands for the dispatcher.
  void Cut(const Process* a, const Process* b) { cuts_.insert(std::minmax(a, b)); }
  void Join(const Process* a, const Process* b) { cuts_.erase(std::minmax(a, b)); }
  bool IsCut(const Process* a, const Process* b) const {
    return !cuts_.empty() && cuts_.contains(std::minmax(a, b));
  }

  absl::Duration Delay() {
    if (faults_ && random_.Chance(history_.slow_call)) {
      // Longer than any time-out now and then.
      return random_.Between(absl::Milliseconds(100),
                             random_.Chance(0.1) ? absl::Seconds(12) : absl::Seconds(3));
    }
    return random_.Between(absl::Microseconds(200), absl::Milliseconds(20));
  }

  // `done` runs once: with the first reply, or with DEADLINE_EXCEEDED after `timeout`.
  template <typename Request, typename Reply>
  void Call(const Process* caller,
            absl::StatusOr<Reply> (DispatcherService::*method)(const Request&), Request request,
            absl::Duration timeout, std::function<void(absl::StatusOr<Reply>)> done) {
    auto once = std::make_shared<std::function<void(absl::StatusOr<Reply>)>>(std::move(done));
    const auto finish = [once](absl::StatusOr<Reply> reply) {
      if (auto run = std::exchange(*once, nullptr)) run(std::move(reply));
    };
    scheduler_.After(timeout, [finish] { finish(DeadlineExceeded("lost")); });
    const int copies = faults_ && random_.Chance(history_.double_call) ? 2 : 1;
    for (int i = 0; i < copies; ++i) {
      if (faults_ && random_.Chance(history_.lose_call)) continue;
      Carry(caller, nullptr, [this, caller, method, request, finish] {
        if (dispatcher_ == nullptr) return;
        absl::StatusOr<Reply> reply = (dispatcher_->*method)(request);
        if (faults_ && random_.Chance(history_.lose_call)) return;
        Carry(caller, nullptr, [finish, reply = std::move(reply)] { finish(reply); });
      });
    }
  }

  // Runs `arrive` after a delay; where the two are cut off from each other by then, later or never.
  void Carry(const Process* a, const Process* b, std::function<void()> arrive) {
    scheduler_.After(Delay(), [this, a, b, arrive = std::move(arrive)]() mutable {
      if (!IsCut(a, b)) return arrive();
      if (random_.Chance(0.5)) return;
      scheduler_.After(absl::Milliseconds(200), [this, a, b, arrive = std::move(arrive)]() mutable {
        Carry(a, b, std::move(arrive));
      });
    });
  }

  // The same for what a stream keeps in order and never loses while it stands: it waits.
  void Deliver(absl::Duration delay, const Process* a, const Process* b,
               std::function<void()> arrive) {
    scheduler_.After(delay, [this, a, b, arrive = std::move(arrive)]() mutable {
      if (!IsCut(a, b)) return arrive();
      Deliver(absl::Milliseconds(100), a, b, std::move(arrive));
    });
  }

 private:
  Scheduler& scheduler_;
  Random& random_;
  const History& history_;
  DispatcherService* dispatcher_ = nullptr;
  std::set<std::pair<const Process*, const Process*>> cuts_;
  bool faults_ = true;
};

struct SimFrame {
  uint64_t task = 0;
  std::vector<RecordId> elements;
  std::shared_ptr<const FrameView> view = nullptr;  // in their place, of an ordered lane
};

class WorkerModel;
class ClientModel;

// Frames of one task on their way to one client.
struct SimStream {
  uint64_t task = 0;
  WorkerModel* worker = nullptr;
  ClientModel* client = nullptr;
  uint64_t worker_life = 0;  // which process of that name
  uint64_t client_life = 0;
  bool broken = false;  // what is on the way is lost
  bool ended = false;   // by the worker, with OK
  int credit = 3;       // frames
  uint32_t rank = 0;
  uint64_t next = 0;  // ordered: the lane's piece
  absl::Duration last_arrival = absl::ZeroDuration();
  std::deque<SimFrame> under_way;  // in order
};

}  // namespace headrace::sim
