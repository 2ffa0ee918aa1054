#include "orchestrator/drivers/process_driver.h"

#include <signal.h>

#include "common/fake_clock.h"
#include "gtest/gtest.h"
#include "rpc/fake_dispatcher_client.h"
#include "rpc/fake_dispatcher_handler.h"

namespace headrace::orchestrate {
namespace {

class Drains final : public FakeDispatcherHandler {
 public:
  absl::StatusOr<v1::DrainWorkerReply> DrainWorker(const v1::DrainWorkerRequest& request) override {
    drained.push_back(request.worker());
    if (!status.ok()) return status;
    return v1::DrainWorkerReply();
  }
  std::vector<std::string> drained;
  absl::Status status;
};

// Real processes that do nothing; the dispatcher is a script.
class ProcessDriverTest : public ::testing::Test {
 protected:
  ProcessDriverTest() {
    driver_ = std::make_unique<ProcessDriver>(
        ProcessDriver::Options{.workers = 2},
        ProcessDriver::Deps{[this](const std::string& tag) { return Launch(tag); }, &client_,
                            &clock_});
  }
  absl::StatusOr<ChildProcess> Launch(const std::string& tag) {
    if (!may_start_.ok()) return may_start_;
    auto process = ChildProcess::Start({"/bin/sleep", "1000"}, "");
    if (process.ok()) pids_[tag] = process->pid();
    tags_.push_back(tag);
    return process;
  }
  absl::Status Reconcile() { return driver_->Reconcile(fleet_); }
  void Register(size_t nth) {
    v1::FleetWorker& worker = *fleet_.add_workers();
    worker.set_worker(100 + nth);
    worker.set_state("ready");
    worker.add_tags(tags_[nth]);
  }
  void Kill(size_t nth) {
    ::kill(pids_[tags_[nth]], SIGKILL);
    WaitForEnd(nth);
  }
  // Until the process is a zombie: the driver reaps it.
  void WaitForEnd(size_t nth) {
    siginfo_t info = {};
    ::waitid(P_PID, static_cast<id_t>(pids_[tags_[nth]]), &info, WEXITED | WNOWAIT);
  }

  Drains drains_;
  FakeDispatcherClient client_{drains_};
  FakeClock clock_;
  v1::ObserveFleetReply fleet_;
  absl::Status may_start_;
  std::map<std::string, pid_t> pids_;
  std::vector<std::string> tags_;
  std::unique_ptr<ProcessDriver> driver_;
};

TEST_F(ProcessDriverTest, ItStartsWhatIsWantedAndNoMore) {
  ASSERT_TRUE(Reconcile().ok());
  EXPECT_EQ(tags_.size(), 2u);
  driver_->SetWorkers(5);
  ASSERT_TRUE(Reconcile().ok());
  ASSERT_TRUE(Reconcile().ok());
  EXPECT_EQ(tags_.size(), 5u);
  EXPECT_EQ(driver_->running(), 5u);
}

TEST_F(ProcessDriverTest, TheYoungestIsDrainedAndEndsByItself) {
  ASSERT_TRUE(Reconcile().ok());
  Register(0);
  Register(1);
  driver_->SetWorkers(1);
  ASSERT_TRUE(Reconcile().ok());
  ASSERT_TRUE(Reconcile().ok());
  EXPECT_EQ(drains_.drained, std::vector<std::string>{"101"});  // once
  EXPECT_EQ(driver_->running(), 1u);
  Kill(1);
  ASSERT_TRUE(Reconcile().ok());
  EXPECT_EQ(driver_->failure(), "");  // it was told to go
  EXPECT_EQ(tags_.size(), 2u);        // and is not replaced
}

TEST_F(ProcessDriverTest, ADispatcherThatIsAwayIsAskedAgain) {
  ASSERT_TRUE(Reconcile().ok());
  Register(0);
  Register(1);
  drains_.status = absl::UnavailableError("away");
  driver_->SetWorkers(1);
  EXPECT_FALSE(Reconcile().ok());
  drains_.status = absl::OkStatus();
  EXPECT_TRUE(Reconcile().ok());
  EXPECT_EQ(drains_.drained.size(), 2u);
}

TEST_F(ProcessDriverTest, OneThatDoesNotDrainIsEndedInTheEnd) {
  ASSERT_TRUE(Reconcile().ok());
  Register(0);
  Register(1);
  driver_->SetWorkers(1);
  ASSERT_TRUE(Reconcile().ok());
  clock_.Advance(absl::Minutes(3));
  ASSERT_TRUE(Reconcile().ok());
  WaitForEnd(1);  // sleep ends at SIGTERM
  ASSERT_TRUE(Reconcile().ok());
  EXPECT_EQ(driver_->running(), 1u);
}

TEST_F(ProcessDriverTest, OneThatDiesIsReplacedAfterAPauseThatGrows) {
  ASSERT_TRUE(Reconcile().ok());
  Kill(0);
  ASSERT_TRUE(Reconcile().ok());
  EXPECT_EQ(tags_.size(), 2u);
  EXPECT_NE(driver_->failure().find("exit code 137"), std::string::npos);
  clock_.Advance(absl::Milliseconds(600));
  ASSERT_TRUE(Reconcile().ok());
  EXPECT_EQ(tags_.size(), 3u);
  Kill(2);
  ASSERT_TRUE(Reconcile().ok());
  clock_.Advance(absl::Milliseconds(600));
  ASSERT_TRUE(Reconcile().ok());
  EXPECT_EQ(tags_.size(), 3u);  // the second pause is longer
  clock_.Advance(absl::Milliseconds(600));
  ASSERT_TRUE(Reconcile().ok());
  EXPECT_EQ(tags_.size(), 4u);
}

TEST_F(ProcessDriverTest, OneThatCannotBeStartedIsTriedAgain) {
  may_start_ = absl::ResourceExhaustedError("no memory");
  EXPECT_FALSE(Reconcile().ok());
  EXPECT_TRUE(Reconcile().ok());  // not at once
  may_start_ = absl::OkStatus();
  clock_.Advance(absl::Seconds(1));
  EXPECT_TRUE(Reconcile().ok());
  EXPECT_EQ(tags_.size(), 2u);
}

}  // namespace
}  // namespace headrace::orchestrate
