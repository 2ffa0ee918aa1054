// The network between processes. Calls to the dispatcher are delayed, lost, doubled and overtaken;
// streams of frames are ordered until they break.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/status.h"
#include "dispatcher/service.h"
#include "element/provenance.h"
#include "tests/sim/history.h"
#include "tests/sim/random.h"
#include "tests/sim/scheduler.h"

namespace headrace::sim {

class Network {
 public:
  Network(Scheduler& scheduler, Random& random, const History& history)
      : scheduler_(scheduler), random_(random), history_(history) {}

  // Null: it is down, calls are lost.
  void SetDispatcher(DispatcherService* dispatcher) { dispatcher_ = dispatcher; }
  void StopFaults() { faults_ = false; }

  absl::Duration Delay() {
    if (faults_ && random_.Chance(history_.slow_call)) {
      return random_.Between(absl::Milliseconds(100), absl::Seconds(3));
    }
    return random_.Between(absl::Microseconds(200), absl::Milliseconds(20));
  }

  // `done` runs once: with the first reply, or with DEADLINE_EXCEEDED after `timeout`.
  template <typename Request, typename Reply>
  void Call(absl::StatusOr<Reply> (DispatcherService::*method)(const Request&), Request request,
            absl::Duration timeout, std::function<void(absl::StatusOr<Reply>)> done) {
    auto once = std::make_shared<std::function<void(absl::StatusOr<Reply>)>>(std::move(done));
    const auto finish = [once](absl::StatusOr<Reply> reply) {
      if (auto run = std::exchange(*once, nullptr)) run(std::move(reply));
    };
    scheduler_.After(timeout, [finish] { finish(DeadlineExceeded("lost")); });
    const int copies = faults_ && random_.Chance(history_.double_call) ? 2 : 1;
    for (int i = 0; i < copies; ++i) {
      if (faults_ && random_.Chance(history_.lose_call)) continue;
      scheduler_.After(Delay(), [this, method, request, finish] {
        if (dispatcher_ == nullptr) return;
        absl::StatusOr<Reply> reply = (dispatcher_->*method)(request);
        if (faults_ && random_.Chance(history_.lose_call)) return;
        scheduler_.After(Delay(), [finish, reply = std::move(reply)] { finish(reply); });
      });
    }
  }

 private:
  Scheduler& scheduler_;
  Random& random_;
  const History& history_;
  DispatcherService* dispatcher_ = nullptr;
  bool faults_ = true;
};

struct SimFrame {
  uint64_t task = 0;
  std::vector<RecordId> elements;
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
  absl::Duration last_arrival = absl::ZeroDuration();
};

}  // namespace headrace::sim
