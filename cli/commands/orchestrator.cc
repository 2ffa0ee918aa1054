// headrace orchestrator: decides how many workers a cluster has, and where caches go, until it is
// told to stop.
#include "orchestrator/role/orchestrator.h"

#include <CLI/CLI.hpp>
#include <cstdio>

#include "cli/command.h"
#include "cli/config_flags.h"
#include "cli/security_flags.h"
#include "cli/worker_launch.h"
#include "common/metrics/metrics_server.h"
#include "common/metrics/process_metrics.h"
#include "common/sync/signals.h"
#include "pipeline/catalog/catalog.h"
#include "rpc/call_security.h"
#include "rpc/failover_dispatcher_client.h"

namespace headrace {
namespace {

class OrchestratorCommand final : public Command {
 public:
  void Declare(CLI::App& app) override { flags_.Declare(app); }

  absl::Status Run() override {
    HR_ASSIGN_OR_RETURN(OrchestratorConfig config, flags_.Load());
    if (flags_.print()) {
      std::fputs(flags_.Print(config).c_str(), stdout);
      return absl::OkStatus();
    }
    config.log.role = "orchestrator";
    HR_RETURN_IF_ERROR(InitLogging(config.log));
    ShutdownSignal signal;  // before any thread
    const Catalog catalog;
    Metrics metrics("orchestrator");
    const ProcessMetrics process_metrics = AddProcessMetrics(metrics);
    Orchestrator::Deps deps;
    HR_ASSIGN_OR_RETURN(const ChannelOptions dial,
                        MakeChannelOptions(config.tls, config.token_file));
    HR_ASSIGN_OR_RETURN(deps.dispatcher, DialDispatchers(config.dispatcher, RealClock(), dial));
    HR_ASSIGN_OR_RETURN(deps.fleet, DialFleet(config.dispatcher, RealClock(), dial));
    deps.clock = &RealClock();
    deps.catalog = &catalog;
    deps.metrics = &metrics;
    std::vector<std::string> arguments = config.process.worker_arguments;
    AppendSecurity(config.token_file, config.tls, arguments);
    const WorkerLaunch launch{config.dispatcher, std::move(arguments),
                              config.process.log_directory};
    deps.launch = [launch](const std::string& tag) { return launch.StartTagged(tag); };
    HR_ASSIGN_OR_RETURN(std::unique_ptr<Orchestrator> orchestrator,
                        Orchestrator::Start(config, std::move(deps)));
    LogInfo("orchestrator of the cluster at {}, driver {}, {} to {} workers", config.dispatcher,
            config.driver, config.min_workers, config.max_workers);
    std::unique_ptr<MetricsServer> metrics_server;
    if (!config.metrics_listen.empty()) {
      Orchestrator* role = orchestrator.get();
      HR_ASSIGN_OR_RETURN(metrics_server,
                          MetricsServer::Start(
                              config.metrics_listen, "metrics_listen", metrics,
                              [] { return absl::OkStatus(); }, [role] { return role->health(); }));
    }
    while (!signal.token().Wait(absl::Hours(1))) {
    }
    metrics_server = nullptr;
    orchestrator->Shutdown(absl::Milliseconds(1500));
    return absl::OkStatus();
  }

 private:
  ConfigFlags<OrchestratorConfig> flags_{OrchestratorConfigSpec()};
};

}  // namespace

void Register_orchestrator(CommandList& commands) {
  commands.Add<OrchestratorCommand>("orchestrator",
                                    "Decides how many workers a cluster has and where caches go, "
                                    "and says why");
}

}  // namespace headrace
