// A whole cluster in this process: a dispatcher and workers, on loopback. `headrace run` without
// --cluster, Python's hr.local(), tests. The same code as the roles in processes of their own; only
// the threads are shared.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/metrics/metrics.h"
#include "dispatcher/dispatcher_config.h"
#include "dispatcher/server.h"
#include "pipeline/catalog/catalog.h"
#include "worker/worker.h"
#include "worker/worker_config.h"

namespace headrace {

struct EmbeddedOptions {
  size_t workers = 1;
  DispatcherConfig dispatcher;  // listen is 127.0.0.1:0 unless changed
  WorkerConfig worker;          // dispatcher and listen are filled in
  EmbeddedOptions();
};

// Owned by one thread.
class EmbeddedCluster {
 public:
  // Everything is up and registered when it returns. On an error nothing is left running.
  static absl::StatusOr<std::unique_ptr<EmbeddedCluster>> Start(
      const EmbeddedOptions& options, std::shared_ptr<const Catalog> catalog);
  ~EmbeddedCluster();  // Shutdown(2 s)

  // Workers first, then the dispatcher. Idempotent.
  void Shutdown(absl::Duration timeout);

  const std::string& address() const { return dispatcher_->address(); }
  std::vector<std::unique_ptr<Worker>>& workers() { return workers_; }
  Metrics& metrics() { return metrics_; }

 private:
  explicit EmbeddedCluster(std::shared_ptr<const Catalog> catalog)
      : catalog_(std::move(catalog)), metrics_("embedded") {}

  const std::shared_ptr<const Catalog> catalog_;
  Metrics metrics_;
  std::unique_ptr<Dispatcher> dispatcher_;
  std::vector<std::unique_ptr<Worker>> workers_;
};

// A dispatcher over `catalog` and the local files below `roots`: what the command and the embedded
// cluster start.
absl::StatusOr<std::unique_ptr<Dispatcher>> StartDispatcher(const DispatcherConfig& config,
                                                            const Catalog& catalog,
                                                            std::vector<std::string> roots,
                                                            Metrics* metrics);
// A worker that calls config.dispatcher over gRPC.
absl::StatusOr<std::unique_ptr<Worker>> StartWorker(const WorkerConfig& config,
                                                    const Catalog& catalog, Metrics* metrics,
                                                    const CancellationToken& stop);

}  // namespace headrace
