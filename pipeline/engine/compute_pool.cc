#include "pipeline/engine/compute_pool.h"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <cmath>
#include <limits>

namespace headrace {
namespace {

uint64_t SteadyNanos() {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                   std::chrono::steady_clock::now().time_since_epoch())
                                   .count());
}

}  // namespace

ComputePool::ComputePool(Options options)
    : options_(options), cpu_(options.cpu != nullptr ? *options.cpu : RealCpuMeter()) {
  size_t threads = options_.threads;
  if (threads == 0) threads = std::max(1u, std::thread::hardware_concurrency());
  threads_.reserve(threads);
  for (size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { Loop(); });
}

ComputePool::~ComputePool() {
  {
    absl::MutexLock lock(&mutex_);
    assert(ready_.empty());
    stop_ = true;
    work_.SignalAll();
  }
  for (std::thread& thread : threads_) thread.join();
}

std::unique_ptr<ComputePool::Seat> ComputePool::Join(WorkSource& source, double weight) {
  return std::unique_ptr<Seat>(new Seat(*this, source, weight > 0 ? weight : 1));
}

ComputePool::Seat::Seat(ComputePool& pool, WorkSource& source, double weight)
    : pool_(pool), source_(source), weight_(weight) {}

void ComputePool::Seat::Leave() {
  absl::MutexLock lock(&pool_.mutex_);
  leaving_ = true;
  pool_.UnreadyLocked(*this);
  while (running_ > 0) pool_.idle_.Wait(&pool_.mutex_);
}

void ComputePool::Seat::Notify() {
  absl::MutexLock lock(&pool_.mutex_);
  if (leaving_) return;
  pool_.ReadyLocked(*this);
  if (pool_.sleeping_ > 0) pool_.work_.Signal();
}

uint64_t ComputePool::Seat::cpu_nanos() const {
  absl::MutexLock lock(&pool_.mutex_);
  return charged_nanos_;
}

uint64_t ComputePool::Seat::busy_nanos() const {
  absl::MutexLock lock(&pool_.mutex_);
  return busy_nanos_;
}

uint64_t ComputePool::busy_nanos() const {
  absl::MutexLock lock(&mutex_);
  return busy_nanos_;
}

void ComputePool::ReadyLocked(Seat& seat) {
  ++seat.notified_;
  if (seat.ready_ || seat.leaving_) return;
  seat.ready_ = true;
  ready_.push_back(&seat);
}

void ComputePool::UnreadyLocked(Seat& seat) {
  if (!seat.ready_) return;
  seat.ready_ = false;
  // Credit is not saved up while there is nothing to run; debt stays.
  seat.deficit_nanos_ = std::min(seat.deficit_nanos_, 0.0);
  seat.in_turn_ = false;
  ready_.remove(&seat);
}

bool ComputePool::MayRunLocked(Seat& seat) const {
  if (seat.deficit_nanos_ > 0) {
    seat.in_turn_ = true;
    return true;
  }
  // What is left of its least turn: weights are shares of the time, not the length of a turn.
  const double turn = static_cast<double>(options_.quantum_nanos) * seat.weight_;
  const double least = static_cast<double>(options_.least_turn_nanos);
  return seat.in_turn_ && seat.deficit_nanos_ > std::min(0.0, turn - least);
}

ComputePool::Seat* ComputePool::PickLocked() {
  if (ready_.empty()) return nullptr;
  const double quantum = static_cast<double>(options_.quantum_nanos);
  for (size_t looked = ready_.size(); looked > 0; --looked) {
    Seat* head = ready_.front();
    if (MayRunLocked(*head)) return head;
    head->in_turn_ = false;
    head->deficit_nanos_ +=
        quantum * head->weight_;  // its turn ends; the next one begins with more
    ready_.splice(ready_.end(), ready_, ready_.begin());
  }
  // Long units left everyone in debt: go through the rounds that would only count up, at once.
  double rounds = std::numeric_limits<double>::infinity();
  for (const Seat* seat : ready_) {
    rounds = std::min(rounds, std::floor(-seat->deficit_nanos_ / (quantum * seat->weight_)) + 1);
  }
  if (rounds > 0) {
    for (Seat* seat : ready_) seat->deficit_nanos_ += rounds * quantum * seat->weight_;
  }
  while (ready_.front()->deficit_nanos_ <= 0) ready_.splice(ready_.end(), ready_, ready_.begin());
  ready_.front()->in_turn_ = true;
  return ready_.front();
}

void ComputePool::Loop() {
  absl::MutexLock lock(&mutex_);
  while (!stop_) {
    Seat* seat = PickLocked();
    if (seat == nullptr) {
      ++sleeping_;
      work_.Wait(&mutex_);
      --sleeping_;
      continue;
    }
    const uint64_t seen = seat->notified_;
    ++seat->running_;
    mutex_.Unlock();
    const uint64_t before = cpu_.ThreadNanos();
    const uint64_t begun = SteadyNanos();
    const bool ran = seat->source_.RunUnit();
    const uint64_t busy = SteadyNanos() - begun;
    const uint64_t used = cpu_.ThreadNanos() - before;
    mutex_.Lock();
    --seat->running_;
    seat->deficit_nanos_ -= static_cast<double>(used);
    seat->charged_nanos_ += used;
    seat->busy_nanos_ += busy;
    busy_nanos_ += busy;
    // A unit that ran may have made others runnable: the seat stays in the round until one thread
    // finds nothing.
    if (ran) {
      ReadyLocked(*seat);
    } else if (seat->notified_ == seen) {
      UnreadyLocked(*seat);
    }
    if (seat->leaving_ && seat->running_ == 0) idle_.SignalAll();
  }
}

}  // namespace headrace
