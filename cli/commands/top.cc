// headrace top [JOB]: what holds each job back, what workers do, and what the orchestrator decided
// and why. Measured over a few seconds; again and again on a terminal.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <ctime>

#include "cli/claim_words.h"
#include "cli/cluster_option.h"
#include "cli/command.h"
#include "cli/proto_json.h"
#include "cli/table.h"
#include "common/status.h"
#include "common/sync/signals.h"
#include "orchestrator/observation/collector.h"
#include "orchestrator/observation/limits.h"

namespace headrace {
namespace {

using orchestrate::JobObservation;
using orchestrate::Observation;
using orchestrate::WorkerObservation;

std::string Percent(double share) { return fmt::format("{:.0f}%", 100 * share); }

template <typename T>
nlohmann::json OrNull(const std::optional<T>& value) {
  return value.has_value() ? nlohmann::json(*value) : nlohmann::json();
}

class Top final : public Command {
 public:
  void Declare(CLI::App& app) override {
    app.add_option("job", job_, "only this one");
    app.add_option("--seconds", seconds_, "how long to measure")
        ->check(CLI::Range(0.2, 3600.0))
        ->capture_default_str();
    app.add_option("--decisions", decisions_, "how many of the last decisions to show")
        ->capture_default_str();
    app.add_flag("--once", once_, "one look, then the end; also when stdout is no terminal");
    cluster_.Declare(app);
  }

  absl::Status Run() override {
    ShutdownSignal signal;
    HR_ASSIGN_OR_RETURN(auto fleet_calls, cluster_.ConnectFleet());
    const bool once = once_ || cluster_.json() || ::isatty(STDOUT_FILENO) == 0;
    orchestrate::Collector collector;
    HR_ASSIGN_OR_RETURN(v1::ObserveFleetReply fleet, Ask(*fleet_calls));
    collector.Begin(fleet);
    while (true) {
      for (double left = seconds_; left > 0; left -= 0.5) {
        if (signal.token().Wait(absl::Seconds(std::min(left, 0.5)))) return absl::OkStatus();
        HR_ASSIGN_OR_RETURN(fleet, Ask(*fleet_calls));
        collector.Look(fleet);
      }
      const Observation seen = collector.End(fleet, 0);
      if (cluster_.json()) {
        PrintJson(seen, fleet);
      } else {
        if (!once) std::fputs("\x1b[H\x1b[2J", stdout);
        PrintText(seen, fleet);
      }
      std::fflush(stdout);
      if (once) return absl::OkStatus();
    }
  }

 private:
  absl::StatusOr<v1::ObserveFleetReply> Ask(FleetCalls& calls) const {
    v1::ObserveFleetRequest request;
    request.set_job_name(job_);
    request.set_decisions(true);
    HR_ASSIGN_OR_RETURN(v1::ObserveFleetReply fleet,
                        cluster_.Explain(calls.ObserveFleet(request, cluster_.timeout())));
    if (!job_.empty() && fleet.jobs().empty()) {
      return NotFound("no job '{}' at {}: `headrace jobs` lists those that run or ran lately", job_,
                      cluster_.address());
    }
    return fleet;
  }

  // The last ones of the fleet, and of this job when one is asked for.
  std::vector<const v1::FleetDecision*> Decisions(const v1::ObserveFleetReply& fleet) const {
    std::vector<const v1::FleetDecision*> chosen;
    for (const v1::FleetDecision& decision : fleet.decisions()) {
      const std::string& subject = decision.subject();
      const bool ours =
          job_.empty() || subject.empty() || subject == job_ || subject.starts_with(job_ + "/");
      if (ours) chosen.push_back(&decision);
    }
    if (chosen.size() > decisions_)
      chosen.erase(chosen.begin(), chosen.end() - static_cast<std::ptrdiff_t>(decisions_));
    return chosen;
  }

  void PrintText(const Observation& seen, const v1::ObserveFleetReply& fleet) const {
    Table jobs({"job", "limit", "claim", "takes/s", "could take/s", "waits", "prepare", "fetch",
                "queue", "epoch", "bytes each"});
    for (const JobObservation& job : seen.jobs) {
      jobs.Add({job.name, std::string(Word(LimitOf(job, seen))),
                ClaimWords(job.weight, job.priority, job.min_workers, job.max_workers),
                Count(job.elements_per_second), job.demand ? Count(*job.demand) : "-",
                job.stall ? Percent(*job.stall) : "-", Percent(job.prepare_stall),
                Percent(job.fetch_stall), Percent(job.queue_fill), Percent(job.epoch_progress),
                Bytes(job.bytes_per_element)});
    }
    std::fputs(jobs.empty() ? "no jobs\n" : jobs.ToString().c_str(), stdout);
    for (const JobObservation& job : seen.jobs) {
      std::printf("  %s: %s\n", job.name.c_str(), std::string(Advice(LimitOf(job, seen))).c_str());
    }
    Table workers({"worker", "host", "state", "threads", "busy", "cpu", "tasks"});
    for (const WorkerObservation& worker : seen.workers) {
      const bool ready = worker.condition == orchestrate::WorkerCondition::kReady;
      workers.Add({std::to_string(worker.worker), worker.host, ready ? "ready" : "draining",
                   fmt::format("{:.0f}", worker.cores), worker.busy ? Percent(*worker.busy) : "-",
                   fmt::format("{:.2f}", worker.cpu_seconds / seen.window_seconds),
                   std::to_string(worker.tasks)});
    }
    std::fputs(workers.empty() ? "no workers\n" : workers.ToString().c_str(), stdout);
    for (const v1::FleetDecision* decision : Decisions(fleet)) {
      const absl::Time at = absl::FromUnixMillis(decision->at_unix_ms());
      std::printf("%s %s %s%s: %s\n",
                  absl::FormatTime("%H:%M:%S", at, absl::LocalTimeZone()).c_str(),
                  decision->policy().c_str(), decision->verb().c_str(),
                  decision->subject().empty() ? "" : (" '" + decision->subject() + "'").c_str(),
                  decision->reason().c_str());
    }
  }

  void PrintJson(const Observation& seen, const v1::ObserveFleetReply& fleet) const {
    nlohmann::json jobs = nlohmann::json::array();
    for (const JobObservation& job : seen.jobs) {
      jobs.push_back({{"name", job.name},
                      {"limit", std::string(Word(LimitOf(job, seen)))},
                      {"elements_per_second", job.elements_per_second},
                      {"demand", OrNull(job.demand)},
                      {"stall", OrNull(job.stall)},
                      {"fetch_stall", job.fetch_stall},
                      {"prepare_stall", job.prepare_stall},
                      {"queue_fill", job.queue_fill},
                      {"busy_seconds", job.busy_seconds},
                      {"cpu_seconds", job.cpu_seconds},
                      {"clients", job.clients},
                      {"weight", job.weight},
                      {"priority", job.priority},
                      {"least_workers", job.min_workers},
                      {"most_workers", job.max_workers}});
    }
    nlohmann::json workers = nlohmann::json::array();
    for (const WorkerObservation& worker : seen.workers) {
      workers.push_back({{"worker", worker.worker},
                         {"ready", worker.condition == orchestrate::WorkerCondition::kReady},
                         {"busy", OrNull(worker.busy)},
                         {"cores", worker.cores},
                         {"tasks", worker.tasks}});
    }
    nlohmann::json decisions = nlohmann::json::array();
    for (const v1::FleetDecision* decision : Decisions(fleet))
      decisions.push_back(ToJson(*decision));
    const nlohmann::json all = {{"seconds", seen.window_seconds},
                                {"jobs", jobs},
                                {"workers", workers},
                                {"decisions", decisions}};
    std::printf("%s\n", all.dump(2).c_str());
  }

  std::string job_;
  double seconds_ = 2;
  size_t decisions_ = 8;
  bool once_ = false;
  ClusterOption cluster_;
};

}  // namespace

void Register_top(CommandList& commands) {
  commands.Add<Top>("top", "What holds each job back, what workers do, and what was decided");
}

}  // namespace headrace
