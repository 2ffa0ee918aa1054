// headrace workers: who computes.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "cli/cluster_option.h"
#include "cli/command.h"
#include "cli/proto_json.h"
#include "cli/table.h"
#include "common/status.h"

namespace headrace {
namespace {

// Their names: the addresses are for clients.
std::string Transports(const v1::WorkerStatus& worker) {
  std::string names;
  for (const std::string& transport : worker.transports())
    names += (names.empty() ? "" : " ") + transport.substr(0, transport.find(':'));
  return names;
}

class Workers final : public Command {
 public:
  void Declare(CLI::App& app) override { cluster_.Declare(app); }

  absl::Status Run() override {
    HR_ASSIGN_OR_RETURN(auto dispatcher, cluster_.Connect());
    HR_ASSIGN_OR_RETURN(const v1::ListWorkersReply reply,
                        cluster_.Explain(dispatcher->ListWorkers({}, cluster_.timeout())));
    if (cluster_.json()) {
      std::printf("%s\n", ToJson(reply)["workers"].dump(2).c_str());
      return absl::OkStatus();
    }
    Table table({"worker", "address", "host", "transports", "state", "cores", "tasks", "leases",
                 "last beat"});
    for (const v1::WorkerStatus& worker : reply.workers()) {
      table.Add({std::to_string(worker.worker()), worker.address(), worker.host(),
                 Transports(worker), worker.state(), std::to_string(worker.cores()),
                 std::to_string(worker.tasks()), std::to_string(worker.leases()),
                 fmt::format("{:.1f} s ago", worker.seconds_since_beat())});
    }
    std::fputs(table.empty() ? "no workers\n" : table.ToString().c_str(), stdout);
    return absl::OkStatus();
  }

 private:
  ClusterOption cluster_;
};

}  // namespace

void Register_workers(CommandList& commands) {
  commands.Add<Workers>("workers", "The workers of a cluster");
}

}  // namespace headrace
