// Linked into every binary of the tsan preset, and nowhere else. Debian's Abseil is not built with
// ThreadSanitizer, so TSan does not see what absl::Mutex and its kin order and would report every
// guarded member as a race. The functions here stand in front of the library's (the program's
// symbols win over a shared library's), tell TSan which thread's work comes before which, and call
// the real ones.
#include <dlfcn.h>
#include <sanitizer/tsan_interface.h>

#include <cstdlib>

#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"

extern "C" {
void AnnotateIgnoreReadsBegin(const char* file, int line);
void AnnotateIgnoreReadsEnd(const char* file, int line);
}

namespace {

// Mutex is the first member of Notification and BlockingCounter; the flag that HasBeenNotified()
// reads comes next.
void* Flag(const absl::Notification* n) {
  return const_cast<char*>(reinterpret_cast<const char*>(n)) + sizeof(absl::Mutex);
}

void* Find(const char* mangled) {
  void* found = dlsym(RTLD_NEXT, mangled);
  if (found == nullptr)
    std::abort();  // another Abseil: its inline namespace or a signature has changed
  return found;
}

// Conditions of waiting threads are evaluated by whoever unlocks, after TSan was told of the
// release.
class IgnoreReads {
 public:
  IgnoreReads() { AnnotateIgnoreReadsBegin(__FILE__, __LINE__); }
  ~IgnoreReads() { AnnotateIgnoreReadsEnd(__FILE__, __LINE__); }
};

template <typename R, typename... A>
R Call(void* function, A... args) {
  const IgnoreReads ignore;
  return reinterpret_cast<R (*)(A...)>(function)(args...);
}

}  // namespace

namespace absl {
ABSL_NAMESPACE_BEGIN

#define REAL(mangled) static void* const real = Find("_ZN4absl7debian3" mangled)
#define CONST_REAL(mangled) static void* const real = Find("_ZNK4absl7debian3" mangled)

void Mutex::Lock() {
  REAL("5Mutex4LockEv");
  Call<void>(real, this);
  __tsan_acquire(this);
}
void Mutex::Unlock() {
  REAL("5Mutex6UnlockEv");
  __tsan_release(this);
  Call<void>(real, this);
}
bool Mutex::TryLock() {
  REAL("5Mutex7TryLockEv");
  const bool locked = Call<bool>(real, this);
  if (locked) __tsan_acquire(this);
  return locked;
}
void Mutex::ReaderLock() {
  REAL("5Mutex10ReaderLockEv");
  Call<void>(real, this);
  __tsan_acquire(this);
}
void Mutex::ReaderUnlock() {
  REAL("5Mutex12ReaderUnlockEv");
  __tsan_release(this);
  Call<void>(real, this);
}
bool Mutex::ReaderTryLock() {
  REAL("5Mutex13ReaderTryLockEv");
  const bool locked = Call<bool>(real, this);
  if (locked) __tsan_acquire(this);
  return locked;
}
void Mutex::LockWhen(const Condition& condition) {
  REAL("5Mutex8LockWhenERKNS0_9ConditionE");
  Call<void>(real, this, &condition);
  __tsan_acquire(this);
}
bool Mutex::LockWhenWithTimeout(const Condition& condition, Duration timeout) {
  REAL("5Mutex19LockWhenWithTimeoutERKNS0_9ConditionENS0_8DurationE");
  const bool met = Call<bool>(real, this, &condition, timeout);
  __tsan_acquire(this);
  return met;
}
bool Mutex::LockWhenWithDeadline(const Condition& condition, Time deadline) {
  REAL("5Mutex20LockWhenWithDeadlineERKNS0_9ConditionENS0_4TimeE");
  const bool met = Call<bool>(real, this, &condition, deadline);
  __tsan_acquire(this);
  return met;
}
void Mutex::ReaderLockWhen(const Condition& condition) {
  REAL("5Mutex14ReaderLockWhenERKNS0_9ConditionE");
  Call<void>(real, this, &condition);
  __tsan_acquire(this);
}
void Mutex::Await(const Condition& condition) {
  REAL("5Mutex5AwaitERKNS0_9ConditionE");
  __tsan_release(this);
  Call<void>(real, this, &condition);
  __tsan_acquire(this);
}
bool Mutex::AwaitWithTimeout(const Condition& condition, Duration timeout) {
  REAL("5Mutex16AwaitWithTimeoutERKNS0_9ConditionENS0_8DurationE");
  __tsan_release(this);
  const bool met = Call<bool>(real, this, &condition, timeout);
  __tsan_acquire(this);
  return met;
}
bool Mutex::AwaitWithDeadline(const Condition& condition, Time deadline) {
  REAL("5Mutex17AwaitWithDeadlineERKNS0_9ConditionENS0_4TimeE");
  __tsan_release(this);
  const bool met = Call<bool>(real, this, &condition, deadline);
  __tsan_acquire(this);
  return met;
}

void CondVar::Wait(Mutex* mutex) {
  REAL("7CondVar4WaitEPNS0_5MutexE");
  __tsan_release(mutex);
  Call<void>(real, this, mutex);
  __tsan_acquire(mutex);
}
bool CondVar::WaitWithTimeout(Mutex* mutex, Duration timeout) {
  REAL("7CondVar15WaitWithTimeoutEPNS0_5MutexENS0_8DurationE");
  __tsan_release(mutex);
  const bool timed_out = Call<bool>(real, this, mutex, timeout);
  __tsan_acquire(mutex);
  return timed_out;
}
bool CondVar::WaitWithDeadline(Mutex* mutex, Time deadline) {
  REAL("7CondVar16WaitWithDeadlineEPNS0_5MutexENS0_4TimeE");
  __tsan_release(mutex);
  const bool timed_out = Call<bool>(real, this, mutex, deadline);
  __tsan_acquire(mutex);
  return timed_out;
}

void Notification::Notify() {
  REAL("12Notification6NotifyEv");
  __tsan_release(Flag(this));
  Call<void>(real, this);
}
void Notification::WaitForNotification() const {
  CONST_REAL("12Notification19WaitForNotificationEv");
  Call<void>(real, this);
  __tsan_acquire(Flag(this));
}
bool Notification::WaitForNotificationWithTimeout(Duration timeout) const {
  CONST_REAL("12Notification30WaitForNotificationWithTimeoutENS0_8DurationE");
  const bool notified = Call<bool>(real, this, timeout);
  if (notified) __tsan_acquire(Flag(this));
  return notified;
}
bool Notification::WaitForNotificationWithDeadline(Time deadline) const {
  CONST_REAL("12Notification31WaitForNotificationWithDeadlineENS0_4TimeE");
  const bool notified = Call<bool>(real, this, deadline);
  if (notified) __tsan_acquire(Flag(this));
  return notified;
}

bool BlockingCounter::DecrementCount() {
  REAL("15BlockingCounter14DecrementCountEv");
  __tsan_release(this);
  const bool last = Call<bool>(real, this);
  if (last) __tsan_acquire(this);
  return last;
}
void BlockingCounter::Wait() {
  REAL("15BlockingCounter4WaitEv");
  Call<void>(real, this);
  __tsan_acquire(this);
}

ABSL_NAMESPACE_END
}  // namespace absl
