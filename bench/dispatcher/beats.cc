// Thousands of workers and clients that beat once a second: how long a beat takes.
#include <algorithm>
#include <map>
#include <thread>

#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "bench/dispatcher/bed.h"
#include "common/status.h"

namespace headrace::bench {
namespace {

constexpr absl::Duration kPeriod = absl::Seconds(1);
constexpr uint64_t kLeaseEvery = 5;  // beats
constexpr absl::Duration kTimeout = absl::Seconds(20);

struct BeatingWorker {
  uint64_t id = 0;
  uint64_t uid = 0;
  uint64_t task = 0;
  uint64_t request = 0;
  std::vector<v1::SplitReport> reports;
};

struct BeatingClient {
  v1::OpenJobReply job;
  uint64_t version = 0;
  uint64_t report = 0;
};

// Runs of splits that were read, for whichever client beats next.
class Read {
 public:
  void Add(uint64_t task, const v1::Run& run) {
    absl::MutexLock lock(&mutex_);
    runs_[task].push_back(run);
  }
  void TakeAll(v1::ClientBeatRequest& request) {
    absl::MutexLock lock(&mutex_);
    for (const auto& [task, runs] : runs_) {
      v1::TaskRuns& delivered = *request.add_delivered();
      delivered.set_task(task);
      delivered.mutable_runs()->Assign(runs.begin(), runs.end());
    }
    runs_.clear();
  }

 private:
  absl::Mutex mutex_;
  std::map<uint64_t, std::vector<v1::Run>> runs_;
};

struct Latencies {
  std::vector<double> milliseconds;
  uint64_t failed = 0;
  void Add(absl::Time due, const absl::Status& status) {
    milliseconds.push_back(absl::ToDoubleMilliseconds(absl::Now() - due));
    if (!status.ok()) ++failed;
  }
};

// One thread's share of them all, each at its moment of the second.
class Share {
 public:
  Share(const Dispatcher& dispatcher, int number, Read& read)
      : dispatcher_(Connect(dispatcher, number)), read_(read) {}

  absl::Status Register(const Options& options, uint64_t first, uint64_t step) {
    for (uint64_t i = first; i < options.workers; i += step) {
      v1::RegisterWorkerRequest request;
      request.set_worker_uid(i + 1);
      request.set_address(fmt::format("10.0.{}.{}:5051", i / 250, i % 250));
      request.add_transports("grpc");
      HR_ASSIGN_OR_RETURN(const auto reply, dispatcher_->RegisterWorker(request, kTimeout));
      workers_.push_back({reply.worker(), i + 1, 0, 0, {}});
    }
    return absl::OkStatus();
  }
  absl::Status Open(const Options& options, uint64_t first, uint64_t step) {
    for (uint64_t i = first; i < options.clients; i += step) {
      HR_ASSIGN_OR_RETURN(auto job, dispatcher_->OpenJob(OpenRequest(options, i + 1), kTimeout));
      v1::StartEpochRequest start;
      start.set_client(job.client());
      start.set_job(job.job());
      HR_ASSIGN_OR_RETURN(const auto begun, dispatcher_->StartEpoch(start, kTimeout));
      clients_.push_back({std::move(job), begun.tasks_version(), 0});
    }
    return absl::OkStatus();
  }
  void Run(absl::Time start, absl::Time measured_from, absl::Time end) {
    const size_t all = workers_.size() + clients_.size();
    for (absl::Time round = start; round < end; round += kPeriod) {
      for (size_t i = 0; i < all; ++i) {
        const absl::Time due =
            round + kPeriod * (static_cast<double>(i) / static_cast<double>(all));
        absl::SleepFor(due - absl::Now());
        const bool counts = due >= measured_from;
        // Clients between the workers, not after them.
        const bool client = (i + 1) * clients_.size() / all > i * clients_.size() / all;
        if (client) {
          Beat(clients_[next_client_++ % clients_.size()], due, counts);
        } else {
          Beat(workers_[next_worker_++ % workers_.size()], due, counts);
        }
      }
    }
  }

  Latencies beats, leases;

 private:
  void Beat(BeatingWorker& worker, absl::Time due, bool counts) {
    v1::WorkerBeatRequest request;
    request.set_worker(worker.id);
    request.set_worker_uid(worker.uid);
    request.set_report_number(++worker.request);
    if (worker.task != 0) request.add_running_tasks(worker.task);
    request.mutable_splits()->Assign(worker.reports.begin(), worker.reports.end());
    const auto reply = dispatcher_->WorkerBeat(request, kTimeout);
    if (counts) beats.Add(due, reply.status());
    if (!reply.ok()) return;
    worker.reports.clear();
    for (const v1::TaskDef& def : reply->start()) worker.task = def.task();
    // Leases are asked for ahead of need, some seconds' worth at once.
    if (worker.task != 0 && worker.request % kLeaseEvery == worker.uid % kLeaseEvery) {
      Lease(worker, counts);
    }
  }
  void Lease(BeatingWorker& worker, bool counts) {
    v1::LeaseSplitsRequest request;
    request.set_worker(worker.id);
    request.set_task(worker.task);
    request.set_request_number(worker.request);
    request.set_want(2 * kLeaseEvery);
    const absl::Time start = absl::Now();
    const auto reply = dispatcher_->LeaseSplits(request, kTimeout);
    if (counts) leases.Add(start, reply.status());
    if (!reply.ok()) return;
    for (const v1::Lease& lease : reply->leases()) {
      v1::SplitReport& report = worker.reports.emplace_back();
      report.set_task(worker.task);
      report.set_lease(lease.number());
      report.set_split(lease.split().id());
      report.set_read_to_end(true);
      report.set_records(100);
      v1::Run run;
      run.set_split(lease.split().id());
      run.set_count(100);
      run.set_parts(1);
      read_.Add(worker.task, run);
    }
  }
  void Beat(BeatingClient& client, absl::Time due, bool counts) {
    v1::ClientBeatRequest request;
    request.set_client(client.job.client());
    request.set_job(client.job.job());
    request.set_report_number(++client.report);
    request.set_tasks_version(client.version);
    read_.TakeAll(request);
    const auto reply = dispatcher_->ClientBeat(request, kTimeout);
    if (counts) beats.Add(due, reply.status());
    if (reply.ok()) client.version = reply->tasks_version();
  }

  const std::unique_ptr<DispatcherClient> dispatcher_;
  Read& read_;
  std::vector<BeatingWorker> workers_;
  std::vector<BeatingClient> clients_;
  size_t next_worker_ = 0;
  size_t next_client_ = 0;
};

nlohmann::json Summary(std::vector<double> all) {
  std::ranges::sort(all);
  const auto at = [&](double q) {
    return all.empty() ? 0 : all[static_cast<size_t>(q * static_cast<double>(all.size() - 1))];
  };
  return {{"count", all.size()}, {"p50_ms", at(0.5)}, {"p99_ms", at(0.99)}, {"max_ms", at(1)}};
}

}  // namespace

absl::StatusOr<nlohmann::json> MeasureBeats(const Options& options) {
  const Catalog catalog;
  HR_ASSIGN_OR_RETURN(const std::unique_ptr<Dispatcher> dispatcher,
                      StartDispatcher(options, catalog));
  Read read;
  std::vector<std::unique_ptr<Share>> shares;
  for (uint64_t i = 0; i < options.threads; ++i) {
    shares.push_back(std::make_unique<Share>(*dispatcher, static_cast<int>(i), read));
  }
  const absl::Time begin = absl::Now();
  for (uint64_t i = 0; i < options.threads; ++i) {
    HR_RETURN_IF_ERROR(shares[i]->Register(options, i, options.threads));
  }
  for (uint64_t i = 0; i < options.threads; ++i) {
    HR_RETURN_IF_ERROR(shares[i]->Open(options, i, options.threads));
  }
  const double register_seconds = absl::ToDoubleSeconds(absl::Now() - begin);
  // Two rounds until everybody has its task and the list of tasks is known.
  const absl::Time start = absl::Now() + absl::Milliseconds(100);
  const absl::Time end = start + 3 * kPeriod + absl::Seconds(options.seconds);
  const double cpu = CpuSeconds();
  std::vector<std::thread> threads;
  for (const auto& share : shares) {
    threads.emplace_back([&, s = share.get()] { s->Run(start, start + 3 * kPeriod, end); });
  }
  for (std::thread& thread : threads) thread.join();
  const double cpu_cores = (CpuSeconds() - cpu) / absl::ToDoubleSeconds(end - start);
  std::vector<double> beats, leases;
  uint64_t failed = 0;
  for (const auto& share : shares) {
    beats.insert(beats.end(), share->beats.milliseconds.begin(), share->beats.milliseconds.end());
    leases.insert(leases.end(), share->leases.milliseconds.begin(),
                  share->leases.milliseconds.end());
    failed += share->beats.failed + share->leases.failed;
  }
  return nlohmann::json{{"workers", options.workers},
                        {"clients", options.clients},
                        {"beats", Summary(std::move(beats))},
                        {"leases", Summary(std::move(leases))},
                        {"failed", failed},
                        {"cpu_cores", cpu_cores},
                        {"register_seconds", register_seconds}};
}

}  // namespace headrace::bench
