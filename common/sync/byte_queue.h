// A queue between threads, bounded by bytes: producers wait while it is full. An item larger than
// the whole limit goes in when the queue is empty, so nothing is too big to pass. Any number of
// producers and consumers; all members are thread-safe. Owned by the stage that creates it, which
// closes or aborts it before it goes.
//
//   Close():       producers are done. Consumers get what is left, then the end.
//   Abort(status): both sides stop at once with `status`; what is in the queue is dropped.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/status.h"

namespace headrace {

template <typename T>
class ByteQueue {
 public:
  explicit ByteQueue(int64_t limit_bytes) : limit_(limit_bytes) {}
  ByteQueue(const ByteQueue&) = delete;
  ByteQueue& operator=(const ByteQueue&) = delete;

  // OK: taken. DEADLINE_EXCEEDED: still full. FAILED_PRECONDITION: closed. Abort's status. Unless
  // OK, `item` is left as it was.
  absl::Status Push(T&& item, int64_t bytes, absl::Time deadline) {
    absl::MutexLock lock(&mutex_);
    const auto ready = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return closed_ || !aborted_.ok() || Fits(bytes);
    };
    const bool in_time = mutex_.AwaitWithDeadline(absl::Condition(&ready), deadline);
    if (!aborted_.ok()) return aborted_;
    if (closed_) return FailedPrecondition("push into a closed queue");
    if (!in_time) return DeadlineExceeded("the queue is full: {} of {} bytes", bytes_, limit_);
    Add(std::move(item), bytes);
    return absl::OkStatus();
  }

  // False when it is full, closed or aborted; `item` is then left as it was.
  bool TryPush(T&& item, int64_t bytes) {
    absl::MutexLock lock(&mutex_);
    if (closed_ || !aborted_.ok() || !Fits(bytes)) return false;
    Add(std::move(item), bytes);
    return true;
  }

  // An item; nullopt: closed and empty, the end. DEADLINE_EXCEEDED: still empty. Abort's status.
  absl::StatusOr<std::optional<T>> Pop(absl::Time deadline) {
    absl::MutexLock lock(&mutex_);
    const auto ready = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return closed_ || !aborted_.ok() || !items_.empty();
    };
    const bool in_time = mutex_.AwaitWithDeadline(absl::Condition(&ready), deadline);
    if (!aborted_.ok()) return aborted_;
    if (!items_.empty()) return std::optional<T>(Take());
    if (in_time) return std::optional<T>();
    return DeadlineExceeded("the queue is empty");
  }

  // Nothing when it is empty or aborted; AtEnd() tells whether more may come.
  std::optional<T> TryPop() {
    absl::MutexLock lock(&mutex_);
    if (items_.empty()) return std::nullopt;
    return Take();
  }

  void Close() {
    absl::MutexLock lock(&mutex_);
    closed_ = true;
  }

  // The first abort's status stays.
  void Abort(absl::Status status) {
    assert(!status.ok());
    std::deque<Entry> dropped;  // goes after the lock
    absl::MutexLock lock(&mutex_);
    if (!aborted_.ok()) return;
    aborted_ = std::move(status);
    dropped.swap(items_);
    bytes_ = 0;
  }

  bool AtEnd() const {
    absl::MutexLock lock(&mutex_);
    return !aborted_.ok() || (closed_ && items_.empty());
  }
  int64_t bytes() const {
    absl::MutexLock lock(&mutex_);
    return bytes_;
  }
  size_t size() const {
    absl::MutexLock lock(&mutex_);
    return items_.size();
  }
  int64_t limit() const { return limit_; }
  // 0 empty, 1 full (more while an oversized item is in it). For the gauge of queue fill.
  double fill() const { return static_cast<double>(bytes()) / static_cast<double>(limit_); }

 private:
  struct Entry {
    T item;
    int64_t bytes;
  };

  bool Fits(int64_t bytes) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return items_.empty() || bytes <= limit_ - bytes_;
  }
  void Add(T&& item, int64_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    items_.push_back(Entry{std::move(item), bytes});
    bytes_ += bytes;
  }
  T Take() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    T item = std::move(items_.front().item);
    bytes_ -= items_.front().bytes;
    items_.pop_front();
    return item;
  }

  const int64_t limit_;
  mutable absl::Mutex mutex_;
  std::deque<Entry> items_ ABSL_GUARDED_BY(mutex_);
  int64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status aborted_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace headrace
