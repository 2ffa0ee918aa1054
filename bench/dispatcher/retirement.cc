// Small splits as fast as they go: leased, read to their end, reported, delivered, retired.
#include <atomic>
#include <map>
#include <thread>
#include <utility>

#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "bench/dispatcher/bed.h"
#include "common/status.h"

namespace headrace::bench {
namespace {

constexpr absl::Duration kCall = absl::Seconds(60);
constexpr uint64_t kRecords = 16;  // of a split

// What workers have read and clients have yet to report.
class Delivered {
 public:
  void Add(uint64_t task, const v1::LeaseSplitsReply& leased) {
    absl::MutexLock lock(&mutex_);
    for (const v1::Lease& lease : leased.leases()) {
      splits_.emplace_back(task, lease.split().id());
    }
  }
  // Nothing once it is closed and empty.
  std::vector<std::pair<uint64_t, uint64_t>> Take() {
    absl::MutexLock lock(&mutex_);
    const auto some = [this] { return !splits_.empty() || closed_; };
    mutex_.Await(absl::Condition(&some));
    return std::exchange(splits_, {});
  }
  void Close() {
    absl::MutexLock lock(&mutex_);
    closed_ = true;
  }

 private:
  absl::Mutex mutex_;
  std::vector<std::pair<uint64_t, uint64_t>> splits_;  // task, split
  bool closed_ = false;
};

absl::StatusOr<uint64_t> Work(DispatcherClient& dispatcher, const Options& options, uint64_t number,
                              const std::atomic<bool>& stop, Delivered& delivered) {
  v1::RegisterWorkerRequest registration;
  registration.set_worker_uid(number + 1);
  registration.set_address(fmt::format("w:{}", number + 1));
  HR_ASSIGN_OR_RETURN(const auto registered, dispatcher.RegisterWorker(registration, kCall));
  v1::WorkerBeatRequest beat;
  beat.set_worker(registered.worker());
  beat.set_worker_uid(number + 1);
  uint64_t task = 0;
  while (task == 0 && !stop) {
    HR_ASSIGN_OR_RETURN(const auto reply, dispatcher.WorkerBeat(beat, kCall));
    if (reply.start_size() != 0) task = reply.start(0).task();
    if (task == 0) absl::SleepFor(absl::Milliseconds(5));
  }
  beat.add_running_tasks(task);
  uint64_t splits = 0;
  for (uint64_t request = 1; !stop; ++request) {
    v1::LeaseSplitsRequest want;
    want.set_worker(registered.worker());
    want.set_task(task);
    want.set_request_number(request);
    want.set_want(static_cast<uint32_t>(options.batch));
    HR_ASSIGN_OR_RETURN(const auto leased, dispatcher.LeaseSplits(want, kCall));
    if (leased.leases().empty()) return splits;  // the end of the epoch
    delivered.Add(task, leased);
    beat.clear_splits();
    for (const v1::Lease& lease : leased.leases()) {
      v1::SplitReport& report = *beat.add_splits();
      report.set_task(task);
      report.set_lease(lease.number());
      report.set_split(lease.split().id());
      report.set_read_to_end(true);
      report.set_records(kRecords);
    }
    beat.set_report_number(request);
    HR_RETURN_IF_ERROR(dispatcher.WorkerBeat(beat, kCall).status());
    splits += static_cast<uint64_t>(leased.leases_size());
  }
  return splits;
}

absl::Status Deliver(DispatcherClient& dispatcher, const v1::OpenJobReply& job,
                     Delivered& delivered) {
  uint64_t number = 0;
  while (true) {
    const auto splits = delivered.Take();
    if (splits.empty()) return absl::OkStatus();
    v1::ClientBeatRequest beat;
    beat.set_client(job.client());
    beat.set_job(job.job());
    beat.set_report_number(++number);
    std::map<uint64_t, v1::TaskRuns*> by_task;
    for (const auto& [task, split] : splits) {
      v1::TaskRuns*& runs = by_task[task];
      if (runs == nullptr) {
        runs = beat.add_delivered();
        runs->set_task(task);
      }
      v1::Run& run = *runs->add_runs();
      run.set_split(split);
      run.set_count(kRecords);
      run.set_parts(1);
    }
    HR_RETURN_IF_ERROR(dispatcher.ClientBeat(beat, kCall).status());
  }
}

}  // namespace

absl::StatusOr<nlohmann::json> MeasureRetirement(const Options& options) {
  const Catalog catalog;
  HR_ASSIGN_OR_RETURN(const std::unique_ptr<Dispatcher> dispatcher,
                      StartDispatcher(options, catalog));
  const auto reader = Connect(*dispatcher, 1000);
  HR_ASSIGN_OR_RETURN(const v1::OpenJobReply job,
                      reader->OpenJob(OpenRequest(options, 1), absl::Minutes(5)));
  v1::StartEpochRequest begin;
  begin.set_client(job.client());
  begin.set_job(job.job());
  HR_RETURN_IF_ERROR(reader->StartEpoch(begin, kCall).status());
  std::atomic<bool> stop = false;
  Delivered delivered;
  absl::Mutex mutex;
  absl::Status failure;
  const auto note = [&](const absl::Status& status) {
    absl::MutexLock lock(&mutex);
    failure.Update(status);
  };
  const double cpu = CpuSeconds();
  const absl::Time start = absl::Now();
  std::thread client([&] { note(Deliver(*reader, job, delivered)); });
  std::vector<std::thread> workers;
  for (uint64_t i = 0; i < options.threads; ++i) {
    workers.emplace_back([&, i] {
      const auto connection = Connect(*dispatcher, static_cast<int>(i));
      note(Work(*connection, options, i, stop, delivered).status());
    });
  }
  absl::SleepFor(absl::Seconds(options.seconds));
  stop = true;
  for (std::thread& worker : workers) worker.join();
  delivered.Close();
  client.join();
  const double seconds = absl::ToDoubleSeconds(absl::Now() - start);
  HR_RETURN_IF_ERROR(failure);
  HR_ASSIGN_OR_RETURN(const v1::ListJobsReply jobs, reader->ListJobs({}, kCall));
  return nlohmann::json{
      {"retired", jobs.jobs(0).splits_retired()},
      {"leased", jobs.jobs(0).splits_leased()},
      {"seconds", seconds},
      {"splits_per_second", static_cast<double>(jobs.jobs(0).splits_retired()) / seconds},
      {"cpu_seconds", CpuSeconds() - cpu},
      {"journal", options.journal},
      {"peak_mebibytes", PeakMebibytes()}};
}

}  // namespace headrace::bench
