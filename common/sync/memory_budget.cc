#include "common/sync/memory_budget.h"

#include <algorithm>
#include <cassert>

#include "common/status.h"

namespace headrace {

void Reservation::Release() {
  if (budget_ != nullptr) budget_->GiveBack(bytes_);
  budget_ = nullptr;
  bytes_ = 0;
}

void Reservation::ShrinkTo(int64_t bytes) {
  if (budget_ == nullptr || bytes >= bytes_) return;
  budget_->GiveBack(bytes_ - bytes);
  bytes_ = bytes;
}

MemoryBudget::MemoryBudget(std::string name, int64_t limit_bytes, Oversize oversize)
    : name_(std::move(name)), limit_(limit_bytes), oversize_(oversize) {}

MemoryBudget::~MemoryBudget() { assert(used() == 0 && "a reservation outlives its budget"); }

bool MemoryBudget::Fits(int64_t bytes) const {
  return bytes <= limit_ - used_ || (used_ == 0 && !Refused(bytes));
}

std::optional<Reservation> MemoryBudget::TryReserve(int64_t bytes) {
  assert(bytes >= 0);
  absl::MutexLock lock(&mutex_);
  if (!waiting_.empty() || !Fits(bytes)) return std::nullopt;
  used_ += bytes;
  return Reservation(this, bytes);
}

absl::StatusOr<Reservation> MemoryBudget::Reserve(int64_t bytes, absl::Time deadline,
                                                  const CancellationToken& cancel) {
  assert(bytes >= 0);
  if (Refused(bytes)) {
    return OutOfRange("{} bytes are more than the whole of {}: {} bytes; raise it", bytes, name_,
                      limit_);
  }
  bool cancelled = false;  // under mutex_, so that the wait below sees it change
  const CancellationToken::OnCancel wake(cancel, [this, &cancelled] {
    absl::MutexLock lock(&mutex_);
    cancelled = true;
  });
  absl::MutexLock lock(&mutex_);
  const void* const turn = &cancelled;
  waiting_.push_back(turn);
  const auto ready = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return cancelled || (waiting_.front() == turn && Fits(bytes));
  };
  const bool in_time = mutex_.AwaitWithDeadline(absl::Condition(&ready), deadline);
  waiting_.erase(std::find(waiting_.begin(), waiting_.end(), turn));
  if (cancelled) return Cancelled("cancelled while waiting for {} bytes of {}", bytes, name_);
  if (!in_time) {
    return DeadlineExceeded("no room for {} bytes in {}: {} of {} bytes are held", bytes, name_,
                            used_, limit_);
  }
  used_ += bytes;
  return Reservation(this, bytes);
}

int64_t MemoryBudget::used() const {
  absl::MutexLock lock(&mutex_);
  return used_;
}

void MemoryBudget::GiveBack(int64_t bytes) {
  absl::MutexLock lock(&mutex_);
  used_ -= bytes;
  assert(used_ >= 0);
}

}  // namespace headrace
