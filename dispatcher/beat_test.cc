// What a beat costs: one that changes nothing and tells nothing does not wait for the journal.
#include "dispatcher/test_bed.h"

namespace headrace {
namespace {

// Notes what is appended and waited for.
class NotedJournal final : public Journal {
 public:
  explicit NotedJournal(Journal& journal) : journal_(journal) {}
  absl::Status Replay(const Reader& reader) override { return journal_.Replay(reader); }
  uint64_t Append(std::vector<v1::Event> events) override {
    appended += events.size();
    return journal_.Append(std::move(events));
  }
  absl::Status WaitDurable(uint64_t position) override {
    waited_for = position;
    ++waits;
    return journal_.WaitDurable(position);
  }
  bool WantsCompaction() const override { return false; }
  absl::Status Compact(uint64_t position, absl::FunctionRef<bool(std::string&)> next) override {
    return journal_.Compact(position, next);
  }

  uint64_t appended = 0;
  uint64_t waited_for = 0;
  uint64_t waits = 0;

 private:
  Journal& journal_;
};

class BeatTest : public DispatcherBed {
 protected:
  void Restart() override {
    service = std::make_unique<DispatcherService>(
        config, DispatcherService::Deps{&noted, &resolver, &clock, nullptr});
    ASSERT_TRUE(service->Recover().ok());
  }
  absl::StatusOr<v1::WorkerBeatReply> BeatOnce(const TestWorker& worker,
                                               std::vector<uint64_t> running,
                                               std::vector<v1::SplitReport> splits = {}) {
    v1::WorkerBeatRequest request;
    request.set_worker(worker.id);
    request.set_worker_uid(worker.uid);
    request.mutable_running_tasks()->Assign(running.begin(), running.end());
    request.mutable_splits()->Assign(splits.begin(), splits.end());
    return service->WorkerBeat(request);
  }
  absl::StatusOr<v1::ClientBeatReply> BeatOnce(const TestClient& client, uint64_t tasks_version,
                                               uint64_t task = 0) {
    v1::ClientBeatRequest request;
    request.set_client(client.id);
    request.set_job(client.job);
    request.set_tasks_version(tasks_version);
    if (task != 0) {
      request.add_delivered()->set_task(task);
      *request.mutable_delivered(0)->add_runs() = MakeRun(0, 0, 1);
    }
    return service->ClientBeat(request);
  }

  NotedJournal noted{journal};
};

TEST_F(BeatTest, AWorkersThatTellsNothingWaitsForNothingButTheTerm) {
  TestWorker worker = AddWorker("a");
  TestClient client = Open();
  ASSERT_TRUE(Start(client).ok());
  const uint64_t task = TasksOf(worker).at(0);
  const v1::Lease lease = Lease(worker, task, 1).leases(0);
  const uint64_t end = noted.Append({});
  const uint64_t appended = noted.appended;
  const uint64_t waits = noted.waits;

  ASSERT_TRUE(BeatOnce(worker, {task}).ok());
  EXPECT_EQ(noted.waited_for, 0u);
  EXPECT_EQ(noted.waits, waits + 1) << "a leader's answer asks whether the term lasts";
  EXPECT_EQ(noted.appended, appended);

  // It is told to start a task: that task must be there after a crash.
  ASSERT_EQ(BeatOnce(worker, {})->start_size(), 1);
  EXPECT_EQ(noted.waited_for, end);
  ASSERT_EQ(BeatOnce(worker, {task, task + 1})->stop_size(), 1);
  EXPECT_EQ(noted.waited_for, end);
  // What is acknowledged must be durable, also where it was told before.
  const std::vector<v1::SplitReport> report = {ReadToEnd(task, lease, 3)};
  ASSERT_TRUE(BeatOnce(worker, {task}, report).ok());
  EXPECT_EQ(noted.waited_for, end + 1);
}

TEST_F(BeatTest, AClientsThatTellsNothingWaitsForNothingButTheTerm) {
  TestWorker worker = AddWorker("a");
  TestClient client = Open();
  ASSERT_TRUE(Start(client).ok());
  const uint64_t task = TasksOf(worker).at(0);
  ASSERT_EQ(Lease(worker, task, 1).leases_size(), 1);
  const auto first = BeatOnce(client, 0);
  ASSERT_TRUE(first->tasks_changed());
  const uint64_t end = noted.Append({});
  EXPECT_EQ(noted.waited_for, end);

  ASSERT_TRUE(BeatOnce(client, first->tasks_version()).ok());
  EXPECT_EQ(noted.waited_for, 0u);
  ASSERT_TRUE(BeatOnce(client, first->tasks_version(), task).ok());
  EXPECT_EQ(noted.waited_for, end + 1);
  ASSERT_TRUE(BeatOnce(client, first->tasks_version()).ok());
  EXPECT_EQ(noted.waited_for, 0u);
}

}  // namespace
}  // namespace headrace
