// Thousands of workers and clients that beat once a second: how long a beat takes. They are played
// by a few threads, each with some connections and one completion queue: no peer waits for
// another's answer, and what they cost beside the dispatcher, in the same process, is little.
#include <algorithm>
#include <functional>
#include <map>
#include <thread>
#include <utility>

#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "bench/dispatcher/bed.h"
#include "common/status.h"
#include "headrace/v1/dispatcher.grpc.pb.h"

namespace headrace::bench {
namespace {

constexpr absl::Duration kPeriod = absl::Seconds(1);
constexpr uint64_t kLeaseEvery = 5;  // beats
constexpr absl::Duration kTimeout = absl::Seconds(20);

// Runs of splits that were read, for whichever client beats next.
class Read {
 public:
  void Add(uint64_t task, const v1::Run& run) {
    absl::MutexLock lock(&mutex_);
    runs_[task].push_back(run);
  }
  void TakeAll(v1::ClientBeatRequest& request) {
    std::map<uint64_t, std::vector<v1::Run>> runs;
    {
      absl::MutexLock lock(&mutex_);
      runs.swap(runs_);
    }
    for (const auto& [task, list] : runs) {
      v1::TaskRuns& delivered = *request.add_delivered();
      delivered.set_task(task);
      delivered.mutable_runs()->Assign(list.begin(), list.end());
    }
  }

 private:
  absl::Mutex mutex_;
  std::map<uint64_t, std::vector<v1::Run>> runs_;
};

struct Latencies {
  std::vector<double> milliseconds;
  void Add(absl::Time since) {
    milliseconds.push_back(absl::ToDoubleMilliseconds(absl::Now() - since));
  }
  void Append(const Latencies& other) {
    milliseconds.insert(milliseconds.end(), other.milliseconds.begin(), other.milliseconds.end());
  }
  nlohmann::json Summary() {
    std::ranges::sort(milliseconds);
    const auto at = [this](double q) {
      const auto last = static_cast<double>(milliseconds.size() - 1);
      return milliseconds.empty() ? 0 : milliseconds[static_cast<size_t>(q * last)];
    };
    return {{"count", milliseconds.size()},
            {"p50_ms", at(0.5)},
            {"p99_ms", at(0.99)},
            {"max_ms", at(1)}};
  }
};

// A call under way; the completion queue's tag.
struct Call {
  virtual ~Call() = default;
  virtual void Done() = 0;
  grpc::ClientContext context;
  grpc::Status status;
};
template <typename Reply>
struct CallFor final : Call {
  std::function<void(const grpc::Status&, const Reply&)> done;
  Reply reply;
  std::unique_ptr<grpc::ClientAsyncResponseReader<Reply>> reader;
  void Done() override { done(status, reply); }
};

struct Found {
  Latencies workers, clients, leases;
  uint64_t failed = 0;
  // Beats that were left out, since a call before was not answered yet. They count as beats that
  // were answered with it.
  uint64_t overdue = 0;
};

// Some peers, played by one thread.
class Players {
 public:
  Players(const Dispatcher& dispatcher, uint64_t number, const Options& options, Read& read)
      : number_(number), options_(options), read_(read) {
    for (uint64_t i = number; i < options.connections; i += options.threads) {
      const auto channel = MakeChannel(dispatcher, static_cast<int>(i));
      stubs_.push_back(v1::Dispatcher::NewStub(channel));
      calls_.push_back(ClientOver(dispatcher, channel));
    }
  }

  absl::Status Register() {
    for (uint64_t i = number_; i < options_.workers; i += options_.threads) {
      v1::RegisterWorkerRequest request;
      request.set_worker_uid(i + 1);
      request.set_address(fmt::format("10.0.{}.{}:5051", i / 250, i % 250));
      request.add_transports("grpc");
      HR_ASSIGN_OR_RETURN(const auto reply, calls_[0]->RegisterWorker(request, kTimeout));
      workers_.push_back({.id = reply.worker(), .uid = i + 1});
    }
    return absl::OkStatus();
  }
  absl::Status Open() {
    for (uint64_t i = number_; i < options_.clients; i += options_.threads) {
      HR_ASSIGN_OR_RETURN(const auto job,
                          calls_[0]->OpenJob(OpenRequest(options_, i + 1), kTimeout));
      v1::StartEpochRequest start;
      start.set_client(job.client());
      start.set_job(job.job());
      HR_ASSIGN_OR_RETURN(const auto begun, calls_[0]->StartEpoch(start, kTimeout));
      clients_.push_back({.id = job.client(), .job = job.job(), .version = begun.tasks_version()});
    }
    return absl::OkStatus();
  }

  // Each peer beats at its moment of the second, clients between the workers.
  void Run(absl::Time start, absl::Time measured_from, absl::Time end) {
    measured_from_ = measured_from;
    const size_t all = workers_.size() + clients_.size();
    size_t turn = 0, worker = 0, client = 0;
    for (absl::Time round = start; round < end;) {
      const absl::Time due =
          round + kPeriod * (static_cast<double>(turn) / static_cast<double>(all));
      TakeAnswers(due);
      if ((turn + 1) * clients_.size() / all > turn * clients_.size() / all) {
        Beat(clients_[client++ % clients_.size()], due);
      } else {
        Beat(workers_[worker++ % workers_.size()], due);
      }
      if (++turn == all) {
        turn = 0;
        round += kPeriod;
      }
    }
    while (under_way_ != 0) TakeAnswers(absl::Now() + absl::Milliseconds(10));
    queue_.Shutdown();
    void* tag = nullptr;
    bool ok = false;
    while (queue_.Next(&tag, &ok)) {
    }
  }

  Found found;

 private:
  struct Worker {
    uint64_t id = 0;
    uint64_t uid = 0;
    uint64_t task = 0;
    uint64_t request = 0;
    bool under_way = false;
    absl::Time overdue = absl::InfiniteFuture();
    std::vector<v1::SplitReport> reports = {};
  };
  struct Client {
    uint64_t id = 0;
    uint64_t job = 0;
    uint64_t version = 0;
    uint64_t report = 0;
    bool under_way = false;
    absl::Time overdue = absl::InfiniteFuture();
  };

  void TakeAnswers(absl::Time until) {
    while (true) {
      void* tag = nullptr;
      bool ok = false;
      const auto next = queue_.AsyncNext(&tag, &ok, absl::ToChronoTime(until));
      if (next != grpc::CompletionQueue::GOT_EVENT) return;
      const std::unique_ptr<Call> call(static_cast<Call*>(tag));
      --under_way_;
      call->Done();
    }
  }
  template <typename Request, typename Reply>
  void Send(std::unique_ptr<grpc::ClientAsyncResponseReader<Reply>> (v1::Dispatcher::Stub::*method)(
                grpc::ClientContext*, const Request&, grpc::CompletionQueue*),
            const Request& request, uint64_t peer,
            std::function<void(const grpc::Status&, const Reply&)> done) {
    auto call = std::make_unique<CallFor<Reply>>();
    call->done = std::move(done);
    call->context.set_deadline(absl::ToChronoTime(absl::Now() + kTimeout));
    call->reader = (stubs_[peer % stubs_.size()].get()->*method)(&call->context, request, &queue_);
    call->reader->Finish(&call->reply, &call->status, static_cast<Call*>(call.get()));
    call.release();
    ++under_way_;
  }
  void Note(Latencies& latencies, absl::Time since, const grpc::Status& status) {
    if (since >= measured_from_) latencies.Add(since);
    if (!status.ok()) ++found.failed;
  }

  template <typename Peer>
  bool MayBeat(Peer& peer, absl::Time due) {
    if (peer.under_way) {
      peer.overdue = std::min(peer.overdue, due);
      return false;
    }
    return peer.under_way = true;
  }
  template <typename Peer>
  void Answered(Peer& peer, Latencies& latencies, const grpc::Status& status) {
    peer.under_way = false;
    const absl::Time since = std::exchange(peer.overdue, absl::InfiniteFuture());
    if (since == absl::InfiniteFuture()) return;
    if (since >= measured_from_) ++found.overdue;
    Note(latencies, since, status);
  }

  void Beat(Worker& worker, absl::Time due) {
    if (!MayBeat(worker, due)) return;
    v1::WorkerBeatRequest request;
    request.set_worker(worker.id);
    request.set_worker_uid(worker.uid);
    request.set_report_number(++worker.request);
    if (worker.task != 0) request.add_running_tasks(worker.task);
    request.mutable_splits()->Assign(worker.reports.begin(), worker.reports.end());
    Send<v1::WorkerBeatRequest, v1::WorkerBeatReply>(
        &v1::Dispatcher::Stub::AsyncWorkerBeat, request, worker.id,
        [this, &worker, due](const grpc::Status& status, const v1::WorkerBeatReply& reply) {
          Note(found.workers, due, status);
          Answered(worker, found.workers, status);
          if (!status.ok()) return;
          worker.reports.clear();
          for (const v1::TaskDef& def : reply.start()) worker.task = def.task();
          // Leases are asked for ahead of need, some seconds' worth at once.
          if (worker.task != 0 && worker.request % kLeaseEvery == worker.uid % kLeaseEvery) {
            Lease(worker);
          }
        });
  }
  void Lease(Worker& worker) {
    worker.under_way = true;
    v1::LeaseSplitsRequest request;
    request.set_worker(worker.id);
    request.set_task(worker.task);
    request.set_request_number(worker.request);
    request.set_want(2 * kLeaseEvery);
    Send<v1::LeaseSplitsRequest, v1::LeaseSplitsReply>(
        &v1::Dispatcher::Stub::AsyncLeaseSplits, request, worker.id,
        [this, &worker, since = absl::Now()](const grpc::Status& status,
                                             const v1::LeaseSplitsReply& reply) {
          Note(found.leases, since, status);
          Answered(worker, found.workers, status);
          for (const v1::Lease& lease : reply.leases()) ReadWhole(worker, lease);
        });
  }
  void ReadWhole(Worker& worker, const v1::Lease& lease) {
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
  void Beat(Client& client, absl::Time due) {
    if (!MayBeat(client, due)) return;
    v1::ClientBeatRequest request;
    request.set_client(client.id);
    request.set_job(client.job);
    request.set_report_number(++client.report);
    request.set_tasks_version(client.version);
    read_.TakeAll(request);
    Send<v1::ClientBeatRequest, v1::ClientBeatReply>(
        &v1::Dispatcher::Stub::AsyncClientBeat, request, client.id,
        [this, &client, due](const grpc::Status& status, const v1::ClientBeatReply& reply) {
          Note(found.clients, due, status);
          Answered(client, found.clients, status);
          if (status.ok()) client.version = reply.tasks_version();
        });
  }

  const uint64_t number_;
  const Options& options_;
  Read& read_;
  grpc::CompletionQueue queue_;
  std::vector<std::unique_ptr<v1::Dispatcher::Stub>> stubs_;
  std::vector<std::unique_ptr<DispatcherClient>> calls_;
  std::vector<Worker> workers_;
  std::vector<Client> clients_;
  absl::Time measured_from_;
  uint64_t under_way_ = 0;
};

}  // namespace

absl::StatusOr<nlohmann::json> MeasureBeats(const Options& given) {
  Options options = given;
  options.connections = std::max(options.connections, options.threads);
  const Catalog catalog;
  HR_ASSIGN_OR_RETURN(const std::unique_ptr<Dispatcher> dispatcher,
                      StartDispatcher(options, catalog));
  Read read;
  std::vector<std::unique_ptr<Players>> players;
  for (uint64_t i = 0; i < options.threads; ++i) {
    players.push_back(std::make_unique<Players>(*dispatcher, i, options, read));
  }
  const absl::Time begin = absl::Now();
  for (const auto& some : players) HR_RETURN_IF_ERROR(some->Register());
  for (const auto& some : players) HR_RETURN_IF_ERROR(some->Open());
  const double register_seconds = absl::ToDoubleSeconds(absl::Now() - begin);
  // Some rounds until everybody has its task and the list of tasks is known.
  const absl::Time start = absl::Now() + absl::Milliseconds(100);
  const absl::Time measured_from = start + 3 * kPeriod;
  const absl::Time end = measured_from + absl::Seconds(options.seconds);
  const double cpu = CpuSeconds();
  std::vector<std::thread> threads;
  for (const auto& some : players) {
    threads.emplace_back([&, s = some.get()] { s->Run(start, measured_from, end); });
  }
  for (std::thread& thread : threads) thread.join();
  const double cpu_cores = (CpuSeconds() - cpu) / absl::ToDoubleSeconds(end - start);
  Found all;
  for (const auto& some : players) {
    all.workers.Append(some->found.workers);
    all.clients.Append(some->found.clients);
    all.leases.Append(some->found.leases);
    all.failed += some->found.failed;
    all.overdue += some->found.overdue;
  }
  Latencies beats = all.workers;
  beats.Append(all.clients);
  return nlohmann::json{{"workers", options.workers},
                        {"clients", options.clients},
                        {"beats", beats.Summary()},
                        {"worker_beats", all.workers.Summary()},
                        {"client_beats", all.clients.Summary()},
                        {"leases", all.leases.Summary()},
                        {"failed", all.failed},
                        {"overdue", all.overdue},
                        {"cpu_cores", cpu_cores},
                        {"register_seconds", register_seconds}};
}

}  // namespace headrace::bench
