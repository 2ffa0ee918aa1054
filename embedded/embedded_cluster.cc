#include "embedded/embedded_cluster.h"

#include <utility>

#include "common/clock.h"
#include "common/status.h"
#include "dispatcher/etcd/grpc_etcd_client.h"
#include "dispatcher/graph_pipeline_resolver.h"
#include "dispatcher/journal/open_journal.h"
#include "rpc/call_security.h"
#include "rpc/failover_dispatcher_client.h"

namespace headrace {

EmbeddedOptions::EmbeddedOptions() {
  dispatcher.listen = "127.0.0.1:0";
  dispatcher.journal.driver = "memory";
  worker.listen = "127.0.0.1:0";
}

absl::StatusOr<std::unique_ptr<Dispatcher>> StartDispatcher(const DispatcherConfig& config,
                                                            const Catalog& catalog,
                                                            std::vector<std::string> roots,
                                                            Metrics* metrics) {
  Dispatcher::Deps deps;
  deps.resolver =
      MakeGraphPipelineResolver(catalog.ops, catalog.formats, NewLocalFileSystem(std::move(roots)));
  deps.metrics = metrics;
  if (config.journal.driver == "etcd") {
    HR_ASSIGN_OR_RETURN(deps.etcd,
                        DialEtcd(config.journal.endpoints, config.journal.tls, RealClock()));
  } else {
    HR_ASSIGN_OR_RETURN(deps.journal, OpenJournal(config.journal, JournalMetrics(*metrics)));
  }
  return Dispatcher::Start(config, std::move(deps));
}

absl::StatusOr<std::unique_ptr<Worker>> StartWorker(const WorkerConfig& config,
                                                    const Catalog& catalog, Metrics* metrics,
                                                    const CancellationToken& stop) {
  Worker::Deps deps;
  HR_ASSIGN_OR_RETURN(const ChannelOptions dial, MakeChannelOptions(config.tls, config.token_file));
  HR_ASSIGN_OR_RETURN(deps.dispatcher, DialDispatchers(config.dispatcher, RealClock(), dial));
  HR_ASSIGN_OR_RETURN(deps.fleet, DialFleet(config.dispatcher, RealClock(), dial));
  deps.files = NewLocalFileSystem(config.roots);
  deps.catalog = &catalog;
  deps.clock = &RealClock();
  deps.metrics = metrics;
  return Worker::Start(config, std::move(deps), stop);
}

absl::StatusOr<std::unique_ptr<EmbeddedCluster>> EmbeddedCluster::Start(
    const EmbeddedOptions& options, std::shared_ptr<const Catalog> catalog) {
  std::unique_ptr<EmbeddedCluster> cluster(new EmbeddedCluster(std::move(catalog)));
  HR_ASSIGN_OR_RETURN(cluster->dispatcher_,
                      StartDispatcher(options.dispatcher, *cluster->catalog_, options.worker.roots,
                                      &cluster->metrics_));
  WorkerConfig config = options.worker;
  config.dispatcher = cluster->dispatcher_->address();
  for (size_t i = 0; i < options.workers; ++i) {
    HR_ASSIGN_OR_RETURN(
        std::unique_ptr<Worker> worker,
        StartWorker(config, *cluster->catalog_, &cluster->metrics_, CancellationToken()));
    cluster->workers_.push_back(std::move(worker));
  }
  return cluster;
}

EmbeddedCluster::~EmbeddedCluster() { Shutdown(absl::Seconds(2)); }

void EmbeddedCluster::Shutdown(absl::Duration timeout) {
  for (std::unique_ptr<Worker>& worker : workers_) worker->Shutdown(timeout);
  workers_.clear();
  if (dispatcher_) dispatcher_->Shutdown(timeout);
}

}  // namespace headrace
