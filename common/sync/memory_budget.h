// A limit on the bytes that a role (or one part of it) holds at once. Whoever is about to hold
// bytes reserves them and keeps the Reservation beside them; letting it go gives the bytes back.
// Owned by the role; outlives its reservations. All members are thread-safe. Per block or frame,
// not per record: it takes a lock.
//
// First come, first served: while anyone waits in Reserve, later calls (TryReserve too) do not pass
// it, so that a large request is not starved by small ones.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/sync/cancellation.h"

namespace headrace {

class MemoryBudget;

// Bytes held. Moves; an empty one holds none.
class Reservation {
 public:
  Reservation() = default;
  Reservation(Reservation&& other) noexcept
      : budget_(std::exchange(other.budget_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Reservation& operator=(Reservation&& other) noexcept {
    if (this != &other) {
      Release();
      budget_ = std::exchange(other.budget_, nullptr);
      bytes_ = std::exchange(other.bytes_, 0);
    }
    return *this;
  }
  ~Reservation() { Release(); }

  void Release();
  // Gives back all but `bytes`; nothing if it holds no more than that.
  void ShrinkTo(int64_t bytes);
  int64_t bytes() const { return bytes_; }

 private:
  friend class MemoryBudget;
  Reservation(MemoryBudget* budget, int64_t bytes) : budget_(budget), bytes_(bytes) {}

  MemoryBudget* budget_ = nullptr;
  int64_t bytes_ = 0;
};

class MemoryBudget {
 public:
  // What happens to one request larger than the whole limit.
  enum class Oversize {
    kAlone,   // granted when nothing else is held: one huge record must not stop a job
    kRefuse,  // OUT_OF_RANGE that names the limit
  };

  // `name` is how errors call it, with the key that sets it: "worker memory (memory_limit)".
  MemoryBudget(std::string name, int64_t limit_bytes, Oversize oversize = Oversize::kAlone);
  ~MemoryBudget();
  MemoryBudget(const MemoryBudget&) = delete;
  MemoryBudget& operator=(const MemoryBudget&) = delete;

  // Nothing when it does not fit now.
  std::optional<Reservation> TryReserve(int64_t bytes);

  // Waits for room. DEADLINE_EXCEEDED says how full the budget is; CANCELLED; OUT_OF_RANGE (see
  // Oversize).
  absl::StatusOr<Reservation> Reserve(int64_t bytes, absl::Time deadline,
                                      const CancellationToken& cancel = CancellationToken());

  int64_t used() const;
  int64_t limit() const { return limit_; }

 private:
  friend class Reservation;
  bool Fits(int64_t bytes) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool Refused(int64_t bytes) const { return bytes > limit_ && oversize_ == Oversize::kRefuse; }
  void GiveBack(int64_t bytes);

  const std::string name_;
  const int64_t limit_;
  const Oversize oversize_;
  mutable absl::Mutex mutex_;
  int64_t used_ ABSL_GUARDED_BY(mutex_) = 0;
  std::deque<const void*> waiting_
      ABSL_GUARDED_BY(mutex_);  // one address per waiting call, in order
};

}  // namespace headrace
