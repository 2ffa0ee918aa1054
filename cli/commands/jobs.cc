// headrace jobs [JOB]: what runs, how far it is, and what went wrong.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "cli/cluster_option.h"
#include "cli/command.h"
#include "cli/proto_json.h"
#include "cli/table.h"
#include "common/status.h"

namespace headrace {
namespace {

class Jobs final : public Command {
 public:
  void Declare(CLI::App& app) override {
    app.add_option("job", job_, "only this one, with its failed records");
    cluster_.Declare(app);
  }

  absl::Status Run() override {
    HR_ASSIGN_OR_RETURN(auto dispatcher, cluster_.Connect());
    v1::ListJobsRequest request;
    request.set_job_name(job_);
    HR_ASSIGN_OR_RETURN(const v1::ListJobsReply reply,
                        dispatcher->ListJobs(request, cluster_.timeout()));
    if (!job_.empty() && reply.jobs_size() == 0) {
      return NotFound("no job '{}' at {}: `headrace jobs` lists those that run or ran lately", job_,
                      cluster_.address());
    }
    if (cluster_.json()) {
      std::printf("%s\n", ToJson(reply)["jobs"].dump(2).c_str());
      return absl::OkStatus();
    }
    Table table({"job", "state", "epoch", "splits", "delivered", "settled", "failed", "clients",
                 "tasks", "waits"});
    for (const v1::JobStatus& job : reply.jobs()) {
      table.Add({job.name(), job.state(), std::to_string(job.epoch()),
                 fmt::format("{}/{}", job.splits_retired(), job.splits()),
                 std::to_string(job.delivered()), std::to_string(job.settled()),
                 std::to_string(job.failed()), std::to_string(job.clients()),
                 std::to_string(job.tasks()), fmt::format("{:.0f}%", 100 * job.stall_fraction())});
    }
    std::fputs(table.empty() ? "no jobs\n" : table.ToString().c_str(), stdout);
    for (const v1::JobStatus& job : reply.jobs()) PrintDetails(job);
    return absl::OkStatus();
  }

 private:
  void PrintDetails(const v1::JobStatus& job) const {
    if (!job.error().empty()) std::printf("%s: %s\n", job.name().c_str(), job.error().c_str());
    if (job_.empty()) return;
    for (const v1::FailureSample& sample : job.failures()) {
      std::printf("  failed at %s: %s\n", sample.step().c_str(), sample.message().c_str());
    }
    Table steps({"step", "cpu s", "rows in", "rows out", "bytes out", "failed"});
    for (const v1::StepStats& step : job.steps()) {
      steps.Add({step.step(), fmt::format("{:.2f}", step.cpu_seconds()),
                 std::to_string(step.rows_in()), std::to_string(step.rows_out()),
                 Bytes(static_cast<double>(step.bytes_out())), std::to_string(step.failed())});
    }
    if (!steps.empty()) std::fputs(steps.ToString().c_str(), stdout);
  }

  std::string job_;
  ClusterOption cluster_;
};

}  // namespace

void Register_jobs(CommandList& commands) {
  commands.Add<Jobs>("jobs", "The jobs of a cluster: progress, stalls, failed records");
}

}  // namespace headrace
