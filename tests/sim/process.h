// A simulated process: it can crash (all its closures are void from then on) and pause (they wait
// until it goes on).
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "tests/sim/scheduler.h"

namespace headrace::sim {

class Process {
 public:
  explicit Process(Scheduler& scheduler) : scheduler_(scheduler) {}
  virtual ~Process() = default;

  bool alive() const { return life_ != nullptr; }
  bool paused() const { return paused_; }
  void Pause() { paused_ = true; }
  void Resume() {
    paused_ = false;
    std::deque<std::function<void()>> backlog = std::exchange(backlog_, {});
    for (auto& run : backlog) Guard(std::move(run))();
  }

 protected:
  // `run`, if the process is still the same one by then.
  std::function<void()> Guard(std::function<void()> run) {
    return [this, life = std::weak_ptr<int>(life_), run = std::move(run)] {
      if (life.expired()) return;
      if (paused_) {
        backlog_.push_back(run);
      } else {
        run();
      }
    };
  }
  // The same for what takes the reply of a call.
  template <typename Reply>
  std::function<void(absl::StatusOr<Reply>)> GuardReply(
      std::function<void(absl::StatusOr<Reply>)> take) {
    return [this, life = std::weak_ptr<int>(life_),
            take = std::move(take)](absl::StatusOr<Reply> reply) {
      if (life.expired()) return;
      if (paused_) {
        backlog_.push_back([take, reply = std::move(reply)] { take(reply); });
      } else {
        take(std::move(reply));
      }
    };
  }
  void After(absl::Duration delay, std::function<void()> run) {
    scheduler_.After(delay, Guard(std::move(run)));
  }
  void Die() {
    life_ = nullptr;
    paused_ = false;
    backlog_.clear();
  }
  void Live() { life_ = std::make_shared<int>(0); }

  Scheduler& scheduler_;

 private:
  std::shared_ptr<int> life_;
  bool paused_ = false;
  std::deque<std::function<void()>> backlog_;
};

}  // namespace headrace::sim
