// headrace dispatcher: the dispatcher, until it is told to stop.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "cli/address_file.h"
#include "cli/command.h"
#include "cli/config_flags.h"
#include "common/metrics/process_metrics.h"
#include "common/sync/signals.h"
#include "embedded/embedded_cluster.h"
#include "pipeline/catalog/catalog.h"

namespace headrace {
namespace {

class DispatcherCommand final : public Command {
 public:
  void Declare(CLI::App& app) override {
    flags_.Declare(app);
    app.add_option("--address-file", address_file_,
                   "write the address that was bound to this file");
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
    LogInfo("dispatcher listens on {}", dispatcher->address());
    HR_RETURN_IF_ERROR(WriteAddressFile(address_file_, dispatcher->address()));
    while (!signal.token().Wait(absl::Hours(1))) {
    }
    LogInfo("dispatcher stops");
    dispatcher->Shutdown(absl::Seconds(1));
    return absl::OkStatus();
  }

 private:
  ConfigFlags<DispatcherConfig> flags_{DispatcherConfigSpec()};
  std::string address_file_;
};

}  // namespace

void Register_dispatcher(CommandList& commands) {
  commands.Add<DispatcherCommand>("dispatcher",
                                  "Shards datasets over workers and keeps account of every record");
}

}  // namespace headrace
