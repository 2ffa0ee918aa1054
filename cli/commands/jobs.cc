// headrace jobs [JOB]: what runs, how far it is, and what went wrong.
// headrace jobs release JOB: trainers that fell silent are not waited for any longer.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <map>

#include "cli/claim_words.h"
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
    app.add_option("job", words_,
                   "only this one, with its failed records; `release JOB` gives what its silent "
                   "trainers may hold to the others")
        ->expected(0, 2);
    cluster_.Declare(app);
  }

  absl::Status Run() override {
    HR_ASSIGN_OR_RETURN(auto dispatcher, cluster_.Connect());
    if (words_.size() == 2) {
      if (words_[0] != "release") {
        return InvalidArgument("jobs {}: one job, or `release JOB`", words_[0]);
      }
      return Release(*dispatcher);
    }
    if (!words_.empty()) job_ = words_[0];
    v1::ListJobsRequest request;
    request.set_job_name(job_);
    HR_ASSIGN_OR_RETURN(const v1::ListJobsReply reply,
                        cluster_.Explain(dispatcher->ListJobs(request, cluster_.timeout())));
    if (!job_.empty() && reply.jobs_size() == 0) {
      return NotFound("no job '{}' at {}: `headrace jobs` lists those that run or ran lately", job_,
                      cluster_.address());
    }
    HR_ASSIGN_OR_RETURN(const Claims claims, AskClaims());
    if (cluster_.json()) {
      nlohmann::json jobs = ToJson(reply)["jobs"];
      for (int i = 0; i < reply.jobs_size(); ++i) AddClaim(claims, reply.jobs(i), jobs[i]);
      std::printf("%s\n", jobs.dump(2).c_str());
      return absl::OkStatus();
    }
    Table table({"job", "state", "epoch", "splits", "delivered", "settled", "failed", "clients",
                 "tasks", "waits", "claim"});
    for (const v1::JobStatus& job : reply.jobs()) {
      table.Add({job.name(), job.state(), std::to_string(job.epoch()),
                 fmt::format("{}/{}", job.splits_retired(), job.splits()),
                 std::to_string(job.delivered()), std::to_string(job.settled()),
                 std::to_string(job.failed()), std::to_string(job.clients()),
                 std::to_string(job.tasks()), fmt::format("{:.0f}%", 100 * job.stall_fraction()),
                 InWords(claims, job)});
    }
    std::fputs(table.empty() ? "no jobs\n" : table.ToString().c_str(), stdout);
    for (const v1::JobStatus& job : reply.jobs()) PrintDetails(job);
    return absl::OkStatus();
  }

 private:
  using Claims = std::map<uint64_t, v1::FleetJob>;  // of those that run, by job

  absl::StatusOr<Claims> AskClaims() {
    HR_ASSIGN_OR_RETURN(auto calls, cluster_.ConnectFleet());
    v1::ObserveFleetRequest request;
    request.set_job_name(job_);
    HR_ASSIGN_OR_RETURN(const v1::ObserveFleetReply fleet,
                        cluster_.Explain(calls->ObserveFleet(request, cluster_.timeout())));
    Claims claims;
    for (const v1::FleetJob& job : fleet.jobs()) claims[job.job()] = job;
    return claims;
  }

  static std::string InWords(const Claims& claims, const v1::JobStatus& status) {
    const auto job = claims.find(status.job());
    if (job == claims.end()) return "-";
    const v1::FleetJob& claim = job->second;
    return ClaimWords(claim.weight(), claim.priority(), claim.least_workers(),
                      claim.most_workers());
  }

  static void AddClaim(const Claims& claims, const v1::JobStatus& status, nlohmann::json& json) {
    const auto job = claims.find(status.job());
    if (job == claims.end()) return;
    json["weight"] = job->second.weight();
    json["priority"] = job->second.priority();
    json["least_workers"] = job->second.least_workers();
    json["most_workers"] = job->second.most_workers();
  }

  void PrintDetails(const v1::JobStatus& job) const {
    if (!job.error().empty()) std::printf("%s: %s\n", job.name().c_str(), job.error().c_str());
    if (job_.empty()) return;
    for (const std::string& warning : job.warnings()) {
      std::printf("  warning: %s\n", warning.c_str());
    }
    Table epochs({"epoch", "state", "delivered", "restored", "settled", "failed", "leased",
                  "fenced", "skipped", "leased splits", "fenced splits", "pieces"});
    for (const v1::EpochStatus& epoch : job.epochs()) {
      epochs.Add({std::to_string(epoch.epoch()), epoch.state(), std::to_string(epoch.delivered()),
                  std::to_string(epoch.restored()), std::to_string(epoch.settled()),
                  std::to_string(epoch.failed()), std::to_string(epoch.leased()),
                  std::to_string(epoch.fenced()), std::to_string(epoch.skipped()),
                  std::to_string(epoch.leased_splits()), std::to_string(epoch.fenced_splits()),
                  std::to_string(epoch.pieces())});
    }
    if (!epochs.empty()) std::fputs(epochs.ToString().c_str(), stdout);
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

  absl::Status Release(DispatcherClient& dispatcher) {
    v1::ReleaseJobRequest request;
    request.set_job_name(words_[1]);
    HR_ASSIGN_OR_RETURN(const v1::ReleaseJobReply reply,
                        cluster_.Explain(dispatcher.ReleaseJob(request, cluster_.timeout())));
    if (cluster_.json()) {
      std::printf("%s\n", ToJson(reply).dump(2).c_str());
      return absl::OkStatus();
    }
    if (reply.clients().empty()) std::puts("nobody is waited for");
    for (const std::string& client : reply.clients()) {
      std::printf(
          "gave up %s: its share goes to others, what it was handed within its last report "
          "interval may come twice\n",
          client.c_str());
    }
    return absl::OkStatus();
  }

  std::vector<std::string> words_;
  std::string job_;
  ClusterOption cluster_;
};

}  // namespace

void Register_jobs(CommandList& commands) {
  commands.Add<Jobs>("jobs", "The jobs of a cluster: progress, stalls, failed records");
}

}  // namespace headrace
