#include "pipeline/engine/compute_pool.h"

#include <atomic>

#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"

namespace headrace {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(10);

// CPU time that passes only when a unit says so; each thread has its own.
class FakeMeter final : public CpuMeter {
 public:
  uint64_t ThreadNanos() const override { return Mine(); }
  void Spend(uint64_t nanos) const { Mine() += nanos; }

 private:
  static uint64_t& Mine() {
    thread_local uint64_t nanos = 0;
    return nanos;
  }
};

// Runs `run` until it says that nothing is left.
class Work final : public WorkSource {
 public:
  explicit Work(std::function<bool()> run) : run_(std::move(run)) {}
  bool RunUnit() override { return run_(); }

 private:
  std::function<bool()> run_;
};

class FairnessTest : public ::testing::Test {
 protected:
  struct Job {
    double weight;
    uint64_t nanos_per_unit;
    uint64_t units = 0;
  };

  // All jobs have work without end until `total_units` have run; one thread, all seats ready from
  // the start.
  void Run(std::vector<Job>& jobs, uint64_t total_units) {
    ComputePool pool({.threads = 1, .quantum_nanos = 1'000'000, .cpu = &meter_});
    absl::Notification started;
    absl::Notification all_ready;
    absl::Notification over;
    bool held = false;
    uint64_t total = 0;
    Work plug([&] {
      if (held) return false;
      held = true;
      started.Notify();
      EXPECT_TRUE(all_ready.WaitForNotificationWithTimeout(kPatience));
      return false;
    });
    auto plug_seat = pool.Join(plug, 1);
    plug_seat->Notify();
    ASSERT_TRUE(started.WaitForNotificationWithTimeout(kPatience));
    std::vector<std::unique_ptr<Work>> works;
    std::vector<std::unique_ptr<ComputePool::Seat>> seats;
    for (Job& job : jobs) {
      works.push_back(std::make_unique<Work>([&] {
        if (total == total_units) {
          if (!over.HasBeenNotified()) over.Notify();
          return false;
        }
        ++total;
        ++job.units;
        turns_ += running_ != &job;
        running_ = &job;
        meter_.Spend(job.nanos_per_unit);
        return true;
      }));
      seats.push_back(pool.Join(*works.back(), job.weight));
    }
    for (auto& seat : seats) seat->Notify();
    all_ready.Notify();
    ASSERT_TRUE(over.WaitForNotificationWithTimeout(kPatience));
    for (size_t i = 0; i < jobs.size(); ++i) {
      EXPECT_EQ(seats[i]->cpu_nanos(), jobs[i].units * jobs[i].nanos_per_unit);
    }
    seats.clear();
  }

  FakeMeter meter_;
  const Job* running_ = nullptr;
  uint64_t turns_ = 0;
};

TEST_F(FairnessTest, ATurnIsLongEnoughForWarmCachesHoweverSmallTheWeight) {
  std::vector<Job> jobs = {{1.0 / 16, 100'000}, {1.0 / 16, 100'000}, {1.0 / 8, 100'000}};
  Run(jobs, 8000);
  EXPECT_LE(turns_, 8000 / 5 + 10);  // half a millisecond each
  EXPECT_NEAR(static_cast<double>(jobs[0].units) / static_cast<double>(jobs[1].units), 1, 0.03);
  EXPECT_NEAR(static_cast<double>(jobs[2].units) / static_cast<double>(jobs[1].units), 2, 0.06);
}

TEST_F(FairnessTest, EqualWeightsGetEqualTimeWhateverTheirUnitsCost) {
  std::vector<Job> jobs = {{1, 7'000'000}, {1, 300'000}};
  Run(jobs, 5000);
  const double a = static_cast<double>(jobs[0].units * jobs[0].nanos_per_unit);
  const double b = static_cast<double>(jobs[1].units * jobs[1].nanos_per_unit);
  EXPECT_NEAR(a / b, 1, 0.02);
}

TEST_F(FairnessTest, TimeFollowsTheWeights) {
  std::vector<Job> jobs = {{1, 2'000'000}, {3, 2'000'000}, {0.5, 900'000}};
  Run(jobs, 9000);
  const auto time = [&](size_t i) {
    return static_cast<double>(jobs[i].units * jobs[i].nanos_per_unit);
  };
  EXPECT_NEAR(time(1) / time(0), 3, 0.05);
  EXPECT_NEAR(time(2) / time(0), 0.5, 0.02);
}

TEST_F(FairnessTest, AVeryLongUnitIsPaidBack) {
  // Ten minutes in one unit: the rounds that only count up must not be walked one by one.
  std::vector<Job> jobs = {{1, 600'000'000'000}, {1, 1'000'000}};
  Run(jobs, 100'000);
  EXPECT_LE(jobs[0].units, 2u);
}

TEST(ComputePoolTest, ASeatGoesWhenTheRunningUnitEnds) {
  ComputePool pool({.threads = 2});
  absl::Notification inside;
  absl::Notification go_on;
  std::atomic<bool> begun{false};
  std::atomic<bool> ended{false};
  Work work([&] {
    if (begun.exchange(true)) return false;
    inside.Notify();
    EXPECT_TRUE(go_on.WaitForNotificationWithTimeout(kPatience));
    ended = true;
    return true;
  });
  auto seat = pool.Join(work, 1);
  seat->Notify();
  ASSERT_TRUE(inside.WaitForNotificationWithTimeout(kPatience));
  std::thread leaver([&] {
    seat.reset();
    EXPECT_TRUE(ended);
  });
  go_on.Notify();
  leaver.join();
}

TEST(ComputePoolTest, TwoThreadsWorkForOneSeatAtOnce) {
  ComputePool pool({.threads = 2});
  absl::Mutex mutex;
  int inside = 0;
  bool met = false;
  int left = 2;
  ComputePool::Seat* seat_in_work = nullptr;
  Work work([&] {
    absl::MutexLock lock(&mutex);
    if (left == 0) return false;
    if (--left > 0) seat_in_work->Notify();  // wakes one more thread
    ++inside;
    const auto both = [&] { return inside == 2 || met; };
    EXPECT_TRUE(mutex.AwaitWithTimeout(absl::Condition(&both), kPatience));
    met = true;
    return true;
  });
  auto seat = pool.Join(work, 1);
  {
    absl::MutexLock lock(&mutex);
    seat_in_work = seat.get();
  }
  seat->Notify();
  absl::MutexLock lock(&mutex);
  EXPECT_TRUE(mutex.AwaitWithTimeout(absl::Condition(&met), kPatience));
}

TEST(ComputePoolTest, AUnitMadeRunnableByAnotherIsNotMissed) {
  // One thread finds nothing while the other's unit is about to make more: the seat must stay in
  // the round.
  ComputePool pool({.threads = 4});
  std::atomic<int> chain{2000};
  absl::Notification over;
  std::atomic<bool> busy{false};
  Work work([&] {
    if (busy.exchange(true)) return false;  // one at a time, as a strand
    const int left = --chain;
    if (left == 0) over.Notify();
    busy = false;
    return left > 0;
  });
  auto seat = pool.Join(work, 1);
  seat->Notify();
  EXPECT_TRUE(over.WaitForNotificationWithTimeout(kPatience)) << chain;
  seat.reset();
}

}  // namespace
}  // namespace headrace
