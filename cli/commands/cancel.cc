// headrace cancel.
#include <CLI/CLI.hpp>

#include "cli/cluster_option.h"
#include "cli/command.h"
#include "common/status.h"

namespace headrace {
namespace {

class Cancel final : public Command {
 public:
  void Declare(CLI::App& app) override {
    app.add_option("job", job_, "name")->required();
    cluster_.Declare(app);
  }

  absl::Status Run() override {
    HR_ASSIGN_OR_RETURN(auto dispatcher, cluster_.Connect());
    v1::CancelJobRequest request;
    request.set_job_name(job_);
    return cluster_.Explain(dispatcher->CancelJob(request, cluster_.timeout())).status();
  }

 private:
  std::string job_;
  ClusterOption cluster_;
};

}  // namespace

void Register_cancel(CommandList& commands) {
  commands.Add<Cancel>("cancel", "Ends a job; its clients get an error that says so");
}

}  // namespace headrace
