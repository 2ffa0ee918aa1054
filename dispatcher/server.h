// A dispatcher that listens: the service on a gRPC port, its duties on a thread, its metrics. Owned
// by the command or by an embedded cluster.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/metrics/metrics.h"
#include "common/metrics/metrics_server.h"
#include "common/sync/periodic_task.h"
#include "dispatcher/candidate.h"
#include "dispatcher/dispatcher_config.h"
#include "dispatcher/etcd/etcd_client.h"
#include "dispatcher/journal/journal.h"
#include "dispatcher/leader_gate.h"
#include "dispatcher/service.h"
#include "grpcpp/grpcpp.h"

namespace headrace {

class Dispatcher {
 public:
  struct Deps {
    std::unique_ptr<PipelineResolver> resolver;
    std::unique_ptr<Journal> journal;  // null: nothing is kept
    // Not null: one of several dispatchers, which shares its jobs with the others over it and leads
    // or waits (candidate.h); `journal` is not used.
    std::unique_ptr<EtcdClient> etcd;
    const Clock* clock = nullptr;  // null: the real one
    Metrics* metrics = nullptr;    // null: one of its own; else outlives the dispatcher
  };
  // Replays the journal (with `etcd`: later, when it leads), binds the address, serves. Errors:
  // INVALID_ARGUMENT (address, certificates, token), FAILED_PRECONDITION (address in use), those of
  // the journal.
  static absl::StatusOr<std::unique_ptr<Dispatcher>> Start(const DispatcherConfig& config,
                                                           Deps deps);
  ~Dispatcher();  // Shutdown(config.shutdown_timeout)
  Dispatcher(const Dispatcher&) = delete;
  Dispatcher& operator=(const Dispatcher&) = delete;

  // Takes no more calls, lets the running ones end until the deadline, stops its threads.
  // Idempotent.
  void Shutdown(absl::Duration timeout);

  // Where it is reached: "host:port" with the port that was bound, or "unix:/path".
  const std::string& address() const { return address_; }
  // Of /metrics; empty when there is none.
  const std::string& metrics_address() const { return metrics_address_; }
  // Not with `etcd`.
  DispatcherService& service() { return *service_; }

 private:
  Dispatcher(const DispatcherConfig& config, Deps deps);

  absl::Status Listen();
  void StartDuties();
  void StartCandidate();
  absl::Status ServeMetrics();
  Metrics& metrics() { return own_metrics_ != nullptr ? *own_metrics_ : *deps_.metrics; }

  const DispatcherConfig config_;
  Deps deps_;
  std::unique_ptr<Metrics> own_metrics_;
  DispatcherMetrics metrics_;
  std::unique_ptr<DispatcherService> service_;  // of a lone dispatcher
  LeaderGate gate_;                             // of one of several, and what it counts
  std::unique_ptr<JournalMetrics> journal_metrics_;
  std::unique_ptr<grpc::Service> grpc_service_;
  std::unique_ptr<grpc::Service> grpc_fleet_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<MetricsServer> metrics_server_;
  std::string address_;
  std::string metrics_address_;
  // Last: their threads use everything above.
  std::unique_ptr<Candidate> candidate_;
  std::unique_ptr<PeriodicTask> duties_;
  std::unique_ptr<PeriodicTask>
      snapshots_;  // apart: one takes seconds where there are millions of splits
};

}  // namespace headrace
