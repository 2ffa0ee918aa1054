// Snapshots: a dispatcher that starts from one is the same as the one that made it, after any
// history.
#include <gmock/gmock.h>

#include <random>

#include "dispatcher/test_bed.h"

namespace headrace {
namespace {

// Random calls of workers and clients, sensible ones mostly.
class SnapshotTest : public DispatcherBed {
 protected:
  uint64_t Below(uint64_t n) { return random_() % n; }
  bool Chance(uint64_t percent) { return Below(100) < percent; }

  void UseRandomJob(uint64_t seed) {
    random_.seed(seed);
    FakePipelineResolver::Shape shape;
    shape.splits = Below(12);
    shape.splits_per_file = 1 + Below(3);
    shape.passes = 1 + Below(2);
    shape.single_task = Chance(15);
    constexpr std::array kShardings = {v1::SHARDING_DYNAMIC, v1::SHARDING_DYNAMIC,
                                       v1::SHARDING_STATIC_FILE, v1::SHARDING_STATIC_DATA,
                                       v1::SHARDING_OFF};
    options.set_sharding(kShardings[Below(kShardings.size())]);
    options.set_static_slots(static_cast<uint32_t>(Below(4)));
    options.set_visitation(Chance(20) ? v1::VISITATION_AT_MOST_ONCE : v1::VISITATION_EXACTLY_ONCE);
    pipeline.mutable_errors()->set_on_error(v1::ON_ERROR_SKIP);
    journal_ = std::make_unique<MemoryJournal>(/*keep=*/true);
    Use(shape);
  }
  void Restart() override {
    service = std::make_unique<DispatcherService>(
        config, DispatcherService::Deps{journal_.get(), &resolver, &clock, nullptr, 77});
    const absl::Status status = service->Recover();
    ASSERT_TRUE(status.ok()) << status;
  }

  std::vector<v1::Run> SomeRuns(const v1::Lease& lease) {
    std::vector<v1::Run> runs;
    for (uint64_t i = Below(3); i > 0; --i) {
      const uint64_t split = lease.split().id();
      const uint32_t pass = lease.pass();
      const uint32_t parts = Chance(20) ? 3 : 1;
      runs.push_back(
          MakeRun(split, Below(6), 1 + Below(4), static_cast<uint32_t>(Below(parts)), parts, pass));
    }
    return runs;
  }
  void ALease(TestWorker& worker) {
    const v1::WorkerBeatReply reply = Beat(worker);
    for (const v1::TaskDef& def : reply.start()) {
      uint64_t& number = requests_[def.task()];
      const auto leased = Lease(worker, def.task(), number + (Chance(80) ? 1 : 0),
                                1 + static_cast<uint32_t>(Below(3)));
      ++number;
      for (const v1::Lease& lease : leased.leases()) leases_.emplace_back(def.task(), lease);
    }
  }
  void AReport(TestWorker& worker) {
    if (leases_.empty()) return;
    const auto& [task, lease] = leases_[Below(leases_.size())];
    v1::SplitReport report = ReadToEnd(task, lease, Below(8), SomeRuns(lease));
    report.set_read_to_end(Chance(60));
    if (Chance(20)) {
      report.set_failed(1);
      report.add_samples()->set_message("bad");
    }
    if (Chance(10)) {
      report.set_read_to_end(false);
      report.set_abandoned(true);
      for (const v1::Run& run : SomeRuns(lease)) *report.add_emitted() = run;
    }
    if (options.sharding() == v1::SHARDING_DYNAMIC && Chance(30)) {
      report.set_read_to_end(false);
      uint64_t cut = lease.first_record() + Below(4);
      for (uint64_t i = 1 + Below(3); i > 0; --i, cut += 1 + Below(3)) report.add_cuts(cut);
    }
    Beat(worker, {report});
  }
  void ADelivery(TestClient& client) {
    if (leases_.empty()) return;
    const auto& [task, lease] = leases_[Below(leases_.size())];
    std::vector<uint64_t> confirmed;
    if (Chance(30)) confirmed = FencesOf(client);
    std::vector<uint64_t> broken;
    if (Chance(5)) broken.push_back(task);
    Beat(client, task, SomeRuns(lease), confirmed, broken);
  }
  void AnError(TestWorker& worker) {
    if (leases_.empty()) return;
    v1::TaskError error;
    error.set_task(leases_[Below(leases_.size())].first);
    error.set_code(static_cast<uint32_t>(absl::StatusCode::kUnavailable));
    error.set_message("disk");
    Beat(worker, {}, {}, {error});
  }
  void AnEpoch(TestClient& client) {
    v1::StartEpochRequest request;
    request.set_client(client.id);
    request.set_job(client.job);
    request.set_epoch(client.epoch + (Chance(30) ? 1 : 0));
    request.set_abandon_unfinished(Chance(30));
    if (service->StartEpoch(request).ok()) client.epoch = request.epoch();
  }
  void AStep() {
    if (workers_.empty() || Chance(4)) {
      workers_.push_back(AddWorker(fmt::format("w:{}", Below(6))));
    }
    if (clients_.empty() || Chance(4)) clients_.push_back(Open(fmt::format("job-{}", Below(2))));
    TestWorker& worker = workers_[Below(workers_.size())];
    TestClient& client = clients_[Below(clients_.size())];
    switch (Below(10)) {
      case 0:
        AnEpoch(client);
        break;
      case 1:
      case 2:
        ALease(worker);
        break;
      case 3:
      case 4:
      case 5:
        AReport(worker);
        break;
      case 6:
      case 7:
        ADelivery(client);
        break;
      case 8:
        if (Chance(20)) AnError(worker);
        if (Chance(10)) Beat(worker, {}, {}, {}, /*draining=*/true);
        if (Chance(10)) Close(client, 1);
        break;
      default:
        if (Chance(20)) Pass(absl::Seconds(3), {&worker}, {&client});
    }
  }

  std::unique_ptr<MemoryJournal> journal_ = std::make_unique<MemoryJournal>(/*keep=*/true);
  std::mt19937_64 random_;
  std::vector<TestWorker> workers_;
  std::vector<TestClient> clients_;
  std::vector<std::pair<uint64_t, v1::Lease>> leases_;
  std::map<uint64_t, uint64_t> requests_;  // by task
};

TEST_F(SnapshotTest, AfterAnyHistoryASnapshotIsTheStateThatMadeIt) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    UseRandomJob(seed);
    workers_.clear();
    clients_.clear();
    leases_.clear();
    requests_.clear();
    for (int step = 0; step < 120; ++step) {
      AStep();
      if (!Chance(8)) continue;
      // A snapshot, or one with events behind it.
      if (Chance(70)) {
        ASSERT_TRUE(service->Compact().ok());
      }
      if (Chance(50)) continue;
      const std::string before = service->Dump();
      Restart();
      ASSERT_EQ(service->Dump(), before);
    }
  }
}

TEST_F(SnapshotTest, ManySplitsComeInManyPieces) {
  random_.seed(1);
  journal_ = std::make_unique<MemoryJournal>(/*keep=*/true);
  Use({.splits = 300'000, .splits_per_file = 7});
  TestWorker worker = AddWorker("w:1");
  TestClient client = Open();
  ASSERT_TRUE(Start(client).ok());
  const v1::LeaseSplitsReply leased = Lease(worker, TasksOf(worker).at(0), 1, 3);
  ASSERT_EQ(leased.leases_size(), 3);
  const std::string before = service->Dump();
  Restart();  // by the events
  ASSERT_EQ(service->Dump(), before);
  ASSERT_TRUE(service->Compact().ok());
  Restart();  // by the snapshot
  ASSERT_EQ(service->Dump(), before);
  EXPECT_EQ(Lease(worker, TasksOf(worker).at(0), 1, 3).SerializeAsString(),
            leased.SerializeAsString());
}

TEST_F(SnapshotTest, AJournalKeepsTheNameThatItWasGivenFirst) {
  UseRandomJob(1);
  v1::RegisterWorkerRequest request;
  request.set_worker_uid(1);
  request.set_address("w:1");
  EXPECT_EQ(service->RegisterWorker(request)->cluster(), 77u);
  service = std::make_unique<DispatcherService>(
      config, DispatcherService::Deps{journal_.get(), &resolver, &clock, nullptr, 78});
  ASSERT_TRUE(service->Recover().ok());
  EXPECT_EQ(service->RegisterWorker(request)->cluster(), 77u);
}

// Ids start from 1 in every journal: they mean nothing in another one.
TEST_F(SnapshotTest, IdsOfAnotherLifeAreNotKnown) {
  UseRandomJob(1);
  pipeline.mutable_errors()->set_on_error(v1::ON_ERROR_FAIL);
  TestWorker worker = AddWorker("w:1");
  TestClient client = Open();
  ASSERT_TRUE(Start(client).ok());
  v1::ClientBeatRequest beat;
  beat.set_client(client.id);
  beat.set_job(client.job);
  beat.set_cluster(77);
  EXPECT_FALSE(service->ClientBeat(beat)->unknown_client());
  beat.set_cluster(78);
  EXPECT_TRUE(service->ClientBeat(beat)->unknown_client());
  v1::StartEpochRequest start;
  start.set_client(client.id);
  start.set_job(client.job);
  start.set_cluster(78);
  EXPECT_EQ(service->StartEpoch(start).status().code(), absl::StatusCode::kNotFound);
  v1::WorkerBeatRequest report;
  report.set_worker(worker.id);
  report.set_worker_uid(worker.uid);
  report.set_cluster(78);
  EXPECT_TRUE(service->WorkerBeat(report)->unknown_worker());
  v1::LeaseSplitsRequest lease;
  lease.set_worker(worker.id);
  lease.set_task(1);
  lease.set_request_number(1);
  lease.set_cluster(78);
  EXPECT_TRUE(service->LeaseSplits(lease)->unknown_task());
  v1::CloseClientRequest close;
  close.set_client(client.id);
  close.set_job(client.job);
  close.set_cluster(78);
  ASSERT_TRUE(service->CloseClient(close).ok());
  EXPECT_FALSE(service->ClientBeat(beat)->has_failure());
  beat.set_cluster(77);
  EXPECT_FALSE(service->ClientBeat(beat)->unknown_client());
}

}  // namespace
}  // namespace headrace
