#include "orchestrator/loop/control_loop.h"

#include <algorithm>

#include "common/fake_clock.h"
#include "gtest/gtest.h"
#include "orchestrator/autoscale/autoscaler.h"
#include "pipeline/catalog/catalog.h"

namespace headrace::orchestrate {
namespace {

// A cluster in which trainers take 40/s and a worker makes 10/s.
class Cluster final : public FleetCalls {
 public:
  absl::StatusOr<v1::ReportLoadReply> ReportLoad(const v1::ReportLoadRequest&,
                                                 absl::Duration) override {
    return v1::ReportLoadReply();
  }
  absl::StatusOr<v1::ObserveFleetReply> ObserveFleet(const v1::ObserveFleetRequest& request,
                                                     absl::Duration) override {
    for (const v1::FleetDecision& decision : request.decided()) {
      if (decision.number() > told) decisions.push_back(decision);
      told = std::max(told, decision.number());
    }
    if (away) return absl::UnavailableError("away");
    requests.push_back(request);
    v1::ObserveFleetReply reply;
    reply.set_cluster(id);
    reply.set_at_seconds(at);
    v1::FleetJob& job = *reply.add_jobs();
    job.set_job(1);
    job.set_name("a");
    job.set_running(true);
    if (request.orchestrator() != 0) {  // as the dispatcher does
      caches = {};
      for (const v1::JobCache& cache : request.caches()) caches = cache;
    }
    if (caches.has_placement()) *job.mutable_placement() = caches.placement();
    if (request.pipelines()) job.mutable_pipeline()->set_name("p");
    v1::FleetClient& client = *job.add_clients();
    client.set_client(1);
    client.set_reads(true);
    client.set_measured(true);
    client.set_elements(static_cast<uint64_t>(elements));
    client.set_step_seconds(elements / 40);
    client.set_wait_seconds(at - elements / 40);
    client.set_queue_fill(workers >= 4 ? 1 : 0);
    for (size_t i = 0; i < workers; ++i) {
      v1::FleetWorker& worker = *reply.add_workers();
      worker.set_worker(i + 1);
      worker.set_state("ready");
      v1::WorkerLoad& load = *worker.mutable_load();
      load.set_threads(1);
      load.set_up_seconds(at);
      load.set_busy_seconds(busy / static_cast<double>(workers));
      v1::JobWork& work = *load.add_jobs();
      work.set_job(1);
      work.set_busy_seconds(busy / static_cast<double>(workers));
    }
    return reply;
  }
  void Second() {
    at += 1;
    const double rate = std::min(40.0, 10.0 * static_cast<double>(workers));
    elements += rate;
    busy += rate / 10;
  }

  double at = 0;
  double elements = 0;
  double busy = 0;
  size_t workers = 1;
  bool away = false;
  uint64_t told = 0;
  uint64_t id = 1;
  v1::JobCache caches;  // of job 1
  std::vector<v1::FleetDecision> decisions;
  std::vector<v1::ObserveFleetRequest> requests;
};

// Says what it was given, of job 1.
class Placer final : public Policy {
 public:
  const std::string& name() const override { return name_; }
  std::vector<Decision> Decide(const Observation& seen) override {
    told_facts = !seen.jobs.empty() && (seen.jobs[0].facts || !seen.jobs[0].no_facts.empty());
    if (plan == nullptr) return {};
    Decision decision{.policy = name_, .action = {.subject = "a"}, .reason = plan->reason};
    decision.action.verb = Verb::kPlaceCache;
    decision.plan = plan;
    return {decision};
  }
  std::shared_ptr<CachePlan> plan;
  bool told_facts = false;

 private:
  const std::string name_ = "placement";
};

class Driver final : public ScalingDriver {
 public:
  std::string_view name() const override { return "test"; }
  bool scales() const override { return scaling; }
  size_t wanted() const override { return workers; }
  void SetWorkers(size_t n) override {
    workers = n;
    ++changes;
  }
  absl::Status Reconcile(const v1::ObserveFleetReply&) override { return trouble; }
  size_t workers = 1;
  size_t changes = 0;
  bool scaling = true;
  absl::Status trouble;
};

class ControlLoopTest : public ::testing::Test {
 protected:
  ControlLoopTest() {
    std::vector<std::unique_ptr<Policy>> policies;
    policies.push_back(MakeAutoscaler({}));
    loop_ = std::make_unique<ControlLoop>(
        ControlLoop::Options{}, ControlLoop::Deps{&cluster_, &driver_, &clock_, &metrics_},
        std::move(policies), 77);
  }
  // Each a poll; workers come up at once.
  void Seconds(int n) {
    for (int i = 0; i < n; ++i) {
      cluster_.Second();
      (void)loop_->Poll();
      cluster_.workers = driver_.workers;
    }
  }

  Cluster cluster_;
  Driver driver_;
  FakeClock clock_;
  Metrics metrics_{"orchestrator"};
  std::unique_ptr<ControlLoop> loop_;
};

TEST_F(ControlLoopTest, ItFindsTheCheapestFleetAndSaysWhy) {
  Seconds(12);
  EXPECT_EQ(driver_.workers, 4u);
  Seconds(60);
  EXPECT_EQ(driver_.workers, 4u);
  EXPECT_EQ(driver_.changes, 1u);
  ASSERT_FALSE(cluster_.decisions.empty());
  EXPECT_EQ(cluster_.decisions[0].verb(), "set_workers");
  EXPECT_NE(cluster_.decisions[0].reason().find("job 'a' waits 75% of the time"), std::string::npos)
      << cluster_.decisions[0].reason();
}

TEST_F(ControlLoopTest, WhileTheDispatcherIsAwayTheFleetStays) {
  cluster_.away = true;
  Seconds(100);
  EXPECT_EQ(driver_.changes, 0u);
  EXPECT_FALSE(loop_->Poll().ok());
  cluster_.away = false;
  Seconds(15);
  EXPECT_EQ(driver_.workers, 4u);
}

TEST_F(ControlLoopTest, ADriversTroubleIsReportedAndTriedAgain) {
  driver_.trouble = absl::UnavailableError("no room");
  Seconds(12);
  EXPECT_EQ(loop_->Poll().message(), "no room");
  driver_.trouble = absl::OkStatus();
  EXPECT_TRUE(loop_->Poll().ok());
}

class CacheOrdersTest : public ControlLoopTest {
 protected:
  CacheOrdersTest() { Restart(); }
  void Restart() {
    driver_.scaling = false;
    auto placer = std::make_unique<Placer>();
    placer_ = placer.get();
    std::vector<std::unique_ptr<Policy>> policies;
    policies.push_back(std::move(placer));
    reader_ = std::make_unique<PipelineReader>(catalog_);
    loop_ = std::make_unique<ControlLoop>(
        ControlLoop::Options{},
        ControlLoop::Deps{&cluster_, &driver_, &clock_, &metrics_, reader_.get()},
        std::move(policies), 78);
  }
  static std::shared_ptr<CachePlan> Plan() {
    auto plan = std::make_shared<CachePlan>();
    plan->job = 1;
    plan->placement = CachePlacement{.cut = 2, .tier = "disk", .share = 0.5};
    plan->solved = true;
    plan->reason = "it pays";
    plan->predicted = 400;
    plan->candidates = {{.placement = plan->placement, .after = "2:resize", .chosen = true}, {}};
    return plan;
  }

  const Catalog catalog_;
  std::unique_ptr<PipelineReader> reader_;
  Placer* placer_ = nullptr;
};

TEST_F(CacheOrdersTest, WhatIsDecidedIsToldWithItsReckoningThoughNobodyScales) {
  placer_->plan = Plan();
  Seconds(15);
  EXPECT_TRUE(placer_->told_facts) << "policies are told what pipelines say";
  EXPECT_EQ(cluster_.caches.placement().before_step(), 2u);
  EXPECT_EQ(cluster_.caches.placement().tier(), "disk");
  EXPECT_EQ(cluster_.caches.placement().share(), 0.5);
  EXPECT_EQ(cluster_.caches.plan().reason(), "it pays");
  EXPECT_EQ(cluster_.caches.plan().candidates(0).after(), "2:resize");
  EXPECT_TRUE(cluster_.caches.plan().candidates(1).none());
  ASSERT_FALSE(cluster_.decisions.empty());
  EXPECT_EQ(cluster_.decisions[0].reason(), "it pays") << "it is no advice";
  EXPECT_NE(metrics_.Text().find("headrace_orchestrator_job_rows_per_second{"), std::string::npos);
  // Pipelines may be large: they are asked for at first, and at the end of a window.
  EXPECT_EQ(std::ranges::count_if(cluster_.requests, [](const auto& r) { return r.pipelines(); }),
            2);
  cluster_.caches = {};  // the dispatcher forgets, with its process
  Seconds(1);
  EXPECT_TRUE(cluster_.caches.has_placement());
}

TEST_F(CacheOrdersTest, WhatAnEarlierOneToldIsNotTakenBack) {
  placer_->plan = Plan();
  Seconds(15);
  Restart();
  for (int second = 0; second < 15; ++second) {
    Seconds(1);
    ASSERT_EQ(cluster_.caches.placement().before_step(), 2u) << second;
  }
  auto undecided = std::make_shared<CachePlan>(*Plan());
  undecided->placement.reset();
  placer_->plan = undecided;
  Seconds(15);
  EXPECT_FALSE(cluster_.caches.has_placement());
  EXPECT_TRUE(cluster_.caches.has_plan()) << "the reason is told all the same";
}

TEST_F(CacheOrdersTest, AnotherClustersJobsAreNotToldTheOldOnes) {
  placer_->plan = Plan();
  Seconds(15);
  placer_->plan = nullptr;
  cluster_.id = 2;
  Seconds(2);
  EXPECT_FALSE(cluster_.caches.has_placement());
}

TEST_F(ControlLoopTest, MetricsSayWhatIsWantedAndThere) {
  Seconds(30);
  const std::string text = metrics_.Text();
  EXPECT_NE(text.find("headrace_orchestrator_workers_wanted{role=\"orchestrator\"} 4"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace headrace::orchestrate
