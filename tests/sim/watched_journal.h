// A journal that shows every event to the truth as it is made, so that a broken promise is found at
// the event that breaks it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "dispatcher/journal/memory_journal.h"
#include "tests/sim/truth.h"

namespace headrace::sim {

class WatchedJournal final : public Journal {
 public:
  explicit WatchedJournal(Truth& truth) : truth_(truth) {}

  absl::Status Replay(const Reader& reader) override { return kept_.Replay(reader); }
  uint64_t Append(std::vector<v1::Event> events) override {
    for (const v1::Event& event : events) truth_.See(event);
    return kept_.Append(std::move(events));
  }
  absl::Status WaitDurable(uint64_t position) override { return kept_.WaitDurable(position); }
  bool WantsCompaction() const override { return kept_.WantsCompaction(); }
  absl::Status Compact(uint64_t position, absl::FunctionRef<bool(std::string&)> next) override {
    return kept_.Compact(position, next);
  }

 private:
  Truth& truth_;
  MemoryJournal kept_{/*keep=*/true};
};

}  // namespace headrace::sim
