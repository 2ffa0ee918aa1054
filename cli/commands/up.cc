// headrace up: a cluster on this machine, a process per worker, until Ctrl-C. How many workers is
// said, or found out (--workers auto).
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <thread>

#include "cli/address_file.h"
#include "cli/command.h"
#include "cli/config_flags.h"
#include "cli/function_flags.h"
#include "cli/security_flags.h"
#include "cli/worker_launch.h"
#include "cli/worker_processes.h"
#include "common/metrics/process_metrics.h"
#include "common/sync/signals.h"
#include "embedded/embedded_cluster.h"
#include "orchestrator/role/orchestrator.h"
#include "pipeline/catalog/catalog.h"
#include "rpc/call_security.h"
#include "rpc/failover_dispatcher_client.h"

namespace headrace {
namespace {

// Its jobs end with it, unless it is told otherwise.
ConfigSpec<DispatcherConfig> UpConfigSpec() {
  DispatcherConfig defaults;
  defaults.journal.driver = "memory";
  return DispatcherConfigSpec().Defaults(std::move(defaults));
}

class Up final : public Command {
 public:
  void Declare(CLI::App& app) override {
    app.add_option("--workers", workers_,
                   "worker processes; auto: as many as make the jobs that run cheapest, one "
                   "compute thread each")
        ->check(CLI::Range(1, 1024) | CLI::IsMember({"auto"}))
        ->capture_default_str();
    app.add_option("--max-workers", max_workers_,
                   "with --workers auto: never more; 0: one for each core")
        ->check(CLI::Range(0, 1024));
    app.add_option("--log-directory", log_directory_,
                   "one log file per worker there; left out: our stderr");
    app.add_option("--address-file", address_file_, "write the dispatcher's address to this file");
    functions_.Declare(app);
    flags_.Declare(app);
  }

  absl::Status Run() override {
    HR_ASSIGN_OR_RETURN(DispatcherConfig config, flags_.Load());
    if (flags_.print()) {
      std::fputs(flags_.Print(config).c_str(), stdout);
      return absl::OkStatus();
    }
    config.log.role = "dispatcher";
    HR_RETURN_IF_ERROR(InitLogging(config.log));
    ShutdownSignal signal;  // before any thread
    const Catalog catalog;
    Metrics metrics("dispatcher");
    const ProcessMetrics process_metrics = AddProcessMetrics(metrics);
    HR_ASSIGN_OR_RETURN(std::unique_ptr<Dispatcher> dispatcher,
                        StartDispatcher(config, catalog, config.roots, &metrics));
    std::vector<std::string> arguments = {"--log.level", config.log.level};
    functions_.Append(arguments);
    AppendSecurity(config.token_file, config.tls, arguments);
    HR_ASSIGN_OR_RETURN(const ChannelOptions dial,
                        MakeChannelOptions(config.tls, config.token_file));
    const absl::Status status =
        workers_ == "auto" ? RunAuto(*dispatcher, dial, catalog, arguments, metrics, signal.token())
                           : RunFixed(*dispatcher, arguments, signal.token());
    dispatcher->Shutdown(absl::Milliseconds(300));
    return status;
  }

 private:
  absl::Status Announce(const Dispatcher& dispatcher, const std::string& workers) {
    HR_RETURN_IF_ERROR(WriteAddressFile(address_file_, dispatcher.address()));
    std::printf("headrace is up at %s with %s workers; Ctrl-C ends it.\n",
                dispatcher.address().c_str(), workers.c_str());
    std::printf("  headrace run PIPELINE.yaml --cluster %s\n", dispatcher.address().c_str());
    std::fflush(stdout);
    return absl::OkStatus();
  }

  absl::Status RunFixed(const Dispatcher& dispatcher, std::vector<std::string> arguments,
                        const CancellationToken& stop) {
    WorkerProcesses workers(dispatcher.address(), std::move(arguments), log_directory_);
    HR_RETURN_IF_ERROR(workers.Start(std::stoul(workers_)));
    HR_RETURN_IF_ERROR(Announce(dispatcher, workers_));
    absl::Status status;
    while (status.ok() && !stop.Wait(absl::Milliseconds(250))) {
      if (workers.running() == 0) status = Unavailable("no worker is left: {}", workers.Failure());
    }
    workers.Stop(absl::Milliseconds(1500));
    return status;
  }

  // The orchestrator of this cluster, in this process.
  absl::Status RunAuto(const Dispatcher& dispatcher, const ChannelOptions& dial,
                       const Catalog& catalog, std::vector<std::string> arguments, Metrics& metrics,
                       const CancellationToken& stop) {
    const size_t cores = std::max(1u, std::thread::hardware_concurrency());
    OrchestratorConfig config;
    config.dispatcher = dispatcher.address();
    config.driver = "process";
    config.max_workers = static_cast<int64_t>(max_workers_ == 0 ? cores : max_workers_);
    config.window = absl::Seconds(5);
    config.poll = absl::Milliseconds(500);
    // So that their number is what says how much of this machine they take.
    arguments.insert(arguments.end(), {"--compute-threads", "1"});
    const WorkerLaunch launch{config.dispatcher, std::move(arguments), log_directory_};
    Orchestrator::Deps deps;
    HR_ASSIGN_OR_RETURN(deps.dispatcher, DialDispatchers(config.dispatcher, RealClock(), dial));
    HR_ASSIGN_OR_RETURN(deps.fleet, DialFleet(config.dispatcher, RealClock(), dial));
    deps.clock = &RealClock();
    deps.metrics = &metrics;
    deps.catalog = &catalog;
    deps.launch = [launch](const std::string& tag) { return launch.StartTagged(tag); };
    HR_ASSIGN_OR_RETURN(std::unique_ptr<Orchestrator> orchestrator,
                        Orchestrator::Start(config, std::move(deps)));
    HR_RETURN_IF_ERROR(
        Announce(dispatcher, fmt::format("{} to {}", config.min_workers, config.max_workers)));
    while (!stop.Wait(absl::Hours(1))) {
    }
    orchestrator->Shutdown(absl::Milliseconds(1500));
    return absl::OkStatus();
  }

  std::string workers_ = "2";
  size_t max_workers_ = 0;
  std::string log_directory_;
  std::string address_file_;
  FunctionFlags functions_;
  ConfigFlags<DispatcherConfig> flags_{UpConfigSpec()};
};

}  // namespace

void Register_up(CommandList& commands) {
  commands.Add<Up>("up", "A cluster on this machine, until Ctrl-C");
}

}  // namespace headrace
