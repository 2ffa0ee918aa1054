// headrace up: a cluster on this machine, a process per worker, until Ctrl-C.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "cli/address_file.h"
#include "cli/command.h"
#include "cli/config_flags.h"
#include "cli/function_flags.h"
#include "cli/worker_processes.h"
#include "common/metrics/process_metrics.h"
#include "common/sync/signals.h"
#include "embedded/embedded_cluster.h"
#include "pipeline/catalog/catalog.h"

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
    app.add_option("--workers", workers_, "worker processes")
        ->check(CLI::Range(1, 1024))
        ->capture_default_str();
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
    WorkerProcesses workers(dispatcher->address(), arguments, log_directory_);
    HR_RETURN_IF_ERROR(workers.Start(workers_));
    HR_RETURN_IF_ERROR(WriteAddressFile(address_file_, dispatcher->address()));
    std::printf("headrace is up at %s with %zu workers; Ctrl-C ends it.\n",
                dispatcher->address().c_str(), workers_);
    std::printf("  headrace run PIPELINE.yaml --cluster %s\n", dispatcher->address().c_str());
    std::fflush(stdout);
    absl::Status status;
    while (status.ok() && !signal.token().Wait(absl::Milliseconds(250))) {
      if (workers.running() == 0) status = Unavailable("no worker is left: {}", workers.Failure());
    }
    workers.Stop(absl::Milliseconds(1500));
    dispatcher->Shutdown(absl::Milliseconds(300));
    return status;
  }

 private:
  size_t workers_ = 2;
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
