// headrace worker: one worker, until it is told to stop.
#include "worker/worker.h"

#include <CLI/CLI.hpp>
#include <atomic>
#include <cstdio>

#include "cli/address_file.h"
#include "cli/command.h"
#include "cli/config_flags.h"
#include "common/metrics/metrics_server.h"
#include "common/metrics/process_metrics.h"
#include "common/status.h"
#include "common/sync/signals.h"
#include "embedded/embedded_cluster.h"
#include "pipeline/catalog/catalog.h"
#include "rpc/grpc_dispatcher_client.h"

namespace headrace {
namespace {

class WorkerCommand final : public Command {
 public:
  void Declare(CLI::App& app) override {
    flags_.Declare(app);
    app.add_option("--address-file", address_file_,
                   "write the address that clients dial to this file");
  }

  absl::Status Run() override {
    HR_ASSIGN_OR_RETURN(WorkerConfig config, flags_.Load());
    if (flags_.print()) {
      std::fputs(flags_.Print(config).c_str(), stdout);
      return absl::OkStatus();
    }
    config.log.role = "worker";
    HR_RETURN_IF_ERROR(InitLogging(config.log));
    ShutdownSignal signal;  // before any thread
    const CancellationToken stop = signal.token();

    Metrics metrics("worker");
    const ProcessMetrics process_metrics = AddProcessMetrics(metrics);
    std::atomic<bool> registered = false;
    std::unique_ptr<MetricsServer> metrics_server;
    if (!config.metrics_listen.empty()) {
      const auto ready = [&registered, &config] {
        return registered ? absl::OkStatus()
                          : Unavailable("the dispatcher at {} does not know this worker yet",
                                        config.dispatcher);
      };
      HR_ASSIGN_OR_RETURN(
          metrics_server,
          MetricsServer::Start(config.metrics_listen, "metrics_listen", metrics, {}, ready));
    }
    const Catalog catalog;
    absl::StatusOr<std::unique_ptr<Worker>> worker = StartWorker(config, catalog, &metrics, stop);
    if (absl::IsCancelled(worker.status()))
      return absl::OkStatus();  // asked to stop before it began
    HR_RETURN_IF_ERROR(worker.status());
    registered = true;
    HR_RETURN_IF_ERROR(WriteAddressFile(address_file_, (*worker)->address()));

    while (!stop.Wait(absl::Milliseconds(200)) && !(*worker)->drained()) {
    }
    LogInfo("worker {} leaves{}", (*worker)->id(), (*worker)->drained() ? ", drained" : "");
    (*worker)->Shutdown(config.shutdown_timeout);
    return absl::OkStatus();
  }

 private:
  ConfigFlags<WorkerConfig> flags_{WorkerConfigSpec()};
  std::string address_file_;
};

}  // namespace

void Register_worker(CommandList& commands) {
  commands.Add<WorkerCommand>("worker", "Runs pipelines for a dispatcher and serves the batches");
}

}  // namespace headrace
