// headrace warm PIPELINE.yaml: fills the caches of a cluster's workers for a pipeline, before
// anybody trains on it. Reads as a trainer would, but the pipeline ends behind its cache: no step
// behind it runs, and no row is sent.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/cluster_option.h"
#include "cli/command.h"
#include "cli/pipeline_file.h"
#include "cli/table.h"
#include "client/client.h"
#include "common/logging/logging.h"
#include "common/logging/progress_bar.h"
#include "common/status.h"
#include "common/sync/signals.h"
#include "pipeline/graph/params.h"

namespace headrace {
namespace {

// Workers tell what they have about once a second.
constexpr absl::Duration kTold = absl::Seconds(5);
constexpr absl::Duration kLook = absl::Milliseconds(200);

void Add(v1::Step& step, const std::string& name, v1::Value value) {
  v1::NamedValue& entry = *step.mutable_params()->add_entries();
  entry.set_name(name);
  *entry.mutable_value() = std::move(value);
}

int64_t VariantsOf(const v1::Step& cache) {
  for (const v1::NamedValue& entry : cache.params().entries()) {
    if (entry.name() == "variants") return entry.value().integer();
  }
  return 0;
}

// What all workers' caches did and have, as they told last.
struct Kept {
  uint64_t fills = 0, splits = 0, bytes = 0, limit = 0;
  double up_seconds = 0;  // of all workers: it grows with each report
};

class Warm final : public Command {
 public:
  void Declare(CLI::App& app) override {
    app.add_option("pipeline", path_, "YAML file")->required();
    app.add_option("--before", before_,
                   "keep rows as they reach that step, counted from 1; left out: where the "
                   "pipeline's `cache` step is")
        ->check(CLI::PositiveNumber)
        ->type_name("STEP");
    app.add_option("--tier", tier_, "with --before: auto, memory, disk, ...")
        ->capture_default_str();
    app.add_option("--passes", passes_,
                   "at the most: another one takes up splits that two workers had parts of")
        ->check(CLI::Range(1, 100))
        ->capture_default_str();
    app.add_option("--timeout", timeout_, "seconds, after which it ends; 0: none")
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str();
    app.add_option("--priority", priority_,
                   "of its work: below that of trainers' jobs, which then come first")
        ->capture_default_str();
    cluster_.Declare(app);
  }

  absl::Status Run() override {
    LoggingConfig log;
    log.level = "warning";
    HR_RETURN_IF_ERROR(InitLogging(log));
    ShutdownSignal signal;  // before any thread
    stop_ = signal.token();
    const Catalog catalog;
    HR_ASSIGN_OR_RETURN(v1::PipelineDef def, ReadPipelineFile(path_, catalog));
    HR_ASSIGN_OR_RETURN(def, UpToTheCache(def));
    HR_ASSIGN_OR_RETURN(fleet_, cluster_.ConnectFleet());
    ClientOptions client_options;
    client_options.token_file = cluster_.security().token_file;
    client_options.tls = cluster_.security().tls;
    HR_ASSIGN_OR_RETURN(client_, Client::Connect(cluster_.address(), client_options));
    HR_ASSIGN_OR_RETURN(const Kept before, Look());
    if (before.limit == 0) {
      return FailedPrecondition(
          "no worker at {} has a cache: set cache.memory_bytes or cache.disk in its config",
          cluster_.address());
    }
    StreamOptions options;
    options.job = fmt::format("warm-{}-{:08x}", def.name().empty() ? "pipeline" : def.name(),
                              static_cast<uint32_t>(absl::ToUnixNanos(absl::Now()) >> 10));
    options.job_options.set_world_size(1);
    options.job_options.set_priority(priority_);
    options.job_options.set_cache(v1::CACHING_PIPELINE);
    HR_ASSIGN_OR_RETURN(std::unique_ptr<Loader> loader, client_->Stream(def, options));
    const absl::Status status = Passes(*loader, before);
    loader->Close(absl::Seconds(1));
    v1::CancelJobRequest cancel;  // else the dispatcher keeps it for a while
    cancel.set_job_name(options.job);
    (void)client_->dispatcher().CancelJob(cancel, absl::Seconds(1));
    return status;
  }

 private:
  // The steps up to the cache, and one behind it that lets no row go on.
  absl::StatusOr<v1::PipelineDef> UpToTheCache(const v1::PipelineDef& def) {
    v1::PipelineDef cut = def;
    cut.clear_steps();
    v1::Step cache;
    int at = 0;
    if (before_ > 0) {
      if (before_ > def.steps_size() + 1) {
        return InvalidArgument("--before {}: {} has {} steps", before_, path_, def.steps_size());
      }
      cache.set_op("cache");
      Add(cache, "tier", ToValue(tier_));
      at = before_ - 1;
    } else {
      while (at < def.steps_size() && def.steps(at).op() != "cache") ++at;
      if (at == def.steps_size()) {
        return InvalidArgument(
            "{} has no `cache` step: give it one, or say --before STEP to keep rows in front of "
            "that step, which jobs find there when they keep theirs in the same place",
            path_);
      }
      cache = def.steps(at);
    }
    for (int i = 0; i < at; ++i) {
      if (def.steps(i).op() != "cache") *cut.add_steps() = def.steps(i);
    }
    *cut.add_steps() = cache;
    v1::Step& none = *cut.add_steps();
    none.set_op("filter");
    Add(none, "where", ToValue(std::string("1 == 2")));
    variants_ = std::max<int64_t>(1, VariantsOf(cache));
    return cut;
  }

  absl::StatusOr<Kept> Look() const {
    HR_ASSIGN_OR_RETURN(const v1::ObserveFleetReply reply,
                        cluster_.Explain(fleet_->ObserveFleet({}, cluster_.timeout())));
    Kept kept;
    for (const v1::FleetWorker& worker : reply.workers()) {
      kept.up_seconds += worker.load().up_seconds();
      for (const v1::TierLoad& tier : worker.load().tiers()) {
        kept.fills += tier.fills();
        kept.splits += tier.splits();
        kept.bytes += tier.used_bytes();
        kept.limit += tier.limit_bytes();
      }
    }
    return kept;
  }

  // Once every worker has told twice what it has, and nothing was added in between: disks are
  // written to behind the reading.
  absl::StatusOr<Kept> LookWhenQuiet() const {
    HR_ASSIGN_OR_RETURN(Kept last, Look());
    const absl::Time deadline = absl::Now() + kTold;
    int quiet = 0;
    while (quiet < 2 && absl::Now() < deadline) {
      if (stop_.Wait(kLook)) break;
      HR_ASSIGN_OR_RETURN(const Kept now, Look());
      if (now.up_seconds == last.up_seconds) continue;
      quiet = now.fills == last.fills ? quiet + 1 : 0;
      last = now;
    }
    return last;
  }

  absl::Status Passes(Loader& loader, const Kept& before) {
    Kept last = before;
    int64_t pass = 0;
    while (true) {
      const absl::Status status = Pass(loader, pass);
      ++pass;
      HR_ASSIGN_OR_RETURN(const Kept now, LookWhenQuiet());
      const uint64_t added = now.fills - std::min(now.fills, last.fills);
      const uint64_t filled = now.fills - std::min(now.fills, before.fills);
      const bool all = filled >= splits_ * static_cast<uint64_t>(variants_);
      last = now;
      if (!status.ok()) {
        Report(before, now, pass, false);
        return status;
      }
      // Each of the variants is made in a pass of its own.
      const bool again = pass < variants_ || (!all && added > 0 && pass < passes_ * variants_);
      if (again) continue;
      Report(before, now, pass, true);
      return absl::OkStatus();
    }
  }

  absl::Status Pass(Loader& loader, int64_t pass) {
    HR_RETURN_IF_ERROR(loader.StartEpoch());
    ProgressBar bar({.label = fmt::format("pass {}", pass + 1), .unit = "splits"});
    while (true) {
      if (stop_.Cancelled()) return Cancelled("stopped; what is kept stays");
      if (timeout_ > 0 && absl::Now() - began_ > absl::Seconds(timeout_)) {
        return DeadlineExceeded(
            "not done after {} s: {} of {} splits of pass {} were read; what "
            "is kept stays",
            timeout_, done_, splits_, pass + 1);
      }
      const absl::StatusOr<std::optional<Element>> element = loader.Next(kLook);
      Progress(loader.job_name(), bar);
      if (absl::IsDeadlineExceeded(element.status())) {
        if (const std::string why = loader.waiting(); !why.empty())
          LogLimited(waiting_, LogLevel::kWarning, "{}", why);
        continue;
      }
      HR_RETURN_IF_ERROR(element.status());
      if (!*element) break;
    }
    records_ = loader.summary().settled();
    failed_ = loader.summary().failed();
    done_ = splits_;
    bar.Update(static_cast<int64_t>(done_));
    bar.Finish();
    return absl::OkStatus();
  }

  void Progress(const std::string& job, ProgressBar& bar) {
    v1::ListJobsRequest request;
    request.set_job_name(job);
    const auto reply = client_->dispatcher().ListJobs(request, absl::Seconds(1));
    if (!reply.ok() || reply->jobs_size() == 0) return;
    splits_ = reply->jobs(0).splits();
    done_ = reply->jobs(0).splits_retired();
    bar.SetTotal(static_cast<int64_t>(splits_));
    bar.Update(static_cast<int64_t>(done_));
  }

  void Report(const Kept& before, const Kept& now, int64_t passes, bool whole) const {
    const uint64_t filled = now.fills - std::min(now.fills, before.fills);
    if (cluster_.json()) {
      const nlohmann::json out = {{"done", whole},
                                  {"passes", passes},
                                  {"splits", splits_},
                                  {"records", records_},
                                  {"failed", failed_},
                                  {"splits_filled", filled},
                                  {"splits_kept", now.splits},
                                  {"bytes_kept", now.bytes},
                                  {"bytes_limit", now.limit},
                                  {"seconds", absl::ToDoubleSeconds(absl::Now() - began_)}};
      std::printf("%s\n", out.dump().c_str());
      return;
    }
    std::printf(
        "%llu records in %llu splits read, %llu splits added to the caches in %lld passes\n",
        static_cast<unsigned long long>(records_), static_cast<unsigned long long>(splits_),
        static_cast<unsigned long long>(filled), static_cast<long long>(passes));
    std::printf(
        "workers' caches have %llu splits, %s of %s%s\n",
        static_cast<unsigned long long>(now.splits), Bytes(static_cast<double>(now.bytes)).c_str(),
        Bytes(static_cast<double>(now.limit)).c_str(),
        failed_ > 0 ? fmt::format("; {} records failed, whose splits are not kept", failed_).c_str()
                    : "");
  }

  std::string path_;
  int before_ = 0;
  std::string tier_ = "auto";
  int64_t passes_ = 3;
  double timeout_ = 0;
  int priority_ = -1;
  ClusterOption cluster_;

  const absl::Time began_ = absl::Now();
  int64_t variants_ = 1;
  CancellationToken stop_;
  std::unique_ptr<FleetCalls> fleet_;
  std::unique_ptr<Client> client_;
  uint64_t splits_ = 0, done_ = 0, records_ = 0, failed_ = 0;
  LogLimiter waiting_{absl::Seconds(5)};
};

}  // namespace

void Register_warm(CommandList& commands) {
  commands.Add<Warm>("warm", "Fills workers' caches for a pipeline before anybody trains on it");
}

}  // namespace headrace
