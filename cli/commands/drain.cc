// headrace drain.
#include <CLI/CLI.hpp>

#include "cli/cluster_option.h"
#include "cli/command.h"
#include "common/status.h"

namespace headrace {
namespace {

class Drain final : public Command {
 public:
  void Declare(CLI::App& app) override {
    app.add_option("worker", worker_, "name (id or address)")->required();
    cluster_.Declare(app);
  }

  absl::Status Run() override {
    HR_ASSIGN_OR_RETURN(auto dispatcher, cluster_.Connect());
    v1::DrainWorkerRequest request;
    request.set_worker(worker_);
    return cluster_.Explain(dispatcher->DrainWorker(request, cluster_.timeout())).status();
  }

 private:
  std::string worker_;
  ClusterOption cluster_;
};

}  // namespace

void Register_drain(CommandList& commands) {
  commands.Add<Drain>("drain",
                      "Lets a worker finish what it has and leave; nothing is lost or made twice");
}

}  // namespace headrace
