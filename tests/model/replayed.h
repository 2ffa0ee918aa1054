// A State by its history: State cannot be copied, so a step that changes it takes it along, and
// whoever needs the one before it replays the events that led there.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "dispatcher/state/state.h"

namespace headrace::model {

class Replayed {
 public:
  Replayed() : state_(std::make_unique<dispatch::State>()) {}
  // `state` has seen `before`'s events and `events`.
  Replayed(const Replayed& before, std::vector<v1::Event> events,
           std::unique_ptr<dispatch::State> state)
      : chain_(std::make_shared<const Chain>(before.chain_, std::move(events))),
        state_(std::move(state)) {}

  const dispatch::State* operator->() const { return &Get(); }
  dispatch::State& Get() const {
    if (state_ == nullptr) Replay();
    return *state_;
  }
  // Takes the state away, to be changed; it is replayed when it is needed again.
  std::unique_ptr<dispatch::State> Release() const { return std::move(state_); }

 private:
  struct Chain {
    Chain(std::shared_ptr<const Chain> b, std::vector<v1::Event> e)
        : before(std::move(b)), events(std::move(e)) {}
    std::shared_ptr<const Chain> before;
    std::vector<v1::Event> events;
  };

  void Replay() const {
    std::vector<const Chain*> links;
    for (const Chain* link = chain_.get(); link != nullptr; link = link->before.get()) {
      links.push_back(link);
    }
    state_ = std::make_unique<dispatch::State>();
    for (auto link = links.rbegin(); link != links.rend(); ++link) {
      for (const v1::Event& event : (*link)->events) (void)state_->Apply(event);
    }
  }

  std::shared_ptr<const Chain> chain_;
  mutable std::unique_ptr<dispatch::State> state_;
};

}  // namespace headrace::model
