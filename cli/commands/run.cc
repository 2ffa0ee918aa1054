// headrace run PIPELINE.yaml: streams it, here or from a cluster, and says how fast it was and what
// held it up.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <functional>
#include <map>

#include "cli/command.h"
#include "cli/function_flags.h"
#include "cli/pipeline_file.h"
#include "cli/run_report.h"
#include "cli/security_flags.h"
#include "cli/trace_recorder.h"
#include "cli/worker_processes.h"
#include "client/client.h"
#include "common/logging/progress_bar.h"
#include "common/nearest.h"
#include "common/status.h"
#include "common/sync/signals.h"
#include "embedded/embedded_cluster.h"
#include "rpc/call_security.h"
#include "rpc/failover_dispatcher_client.h"

namespace headrace {
namespace {

const std::map<std::string, v1::Sharding> kShardings = {
    {"off", v1::SHARDING_OFF},
    {"static_file", v1::SHARDING_STATIC_FILE},
    {"static_data", v1::SHARDING_STATIC_DATA},
    {"static_file_or_data", v1::SHARDING_STATIC_FILE_OR_DATA},
    {"static_hint", v1::SHARDING_STATIC_HINT},
    {"dynamic", v1::SHARDING_DYNAMIC}};

const std::map<std::string, v1::Visitation> kVisitations = {
    {"exactly_once", v1::VISITATION_EXACTLY_ONCE},
    {"at_least_once", v1::VISITATION_AT_LEAST_ONCE},
    {"at_most_once", v1::VISITATION_AT_MOST_ONCE}};
const std::map<std::string, v1::OnClientLoss> kClientLosses = {
    {"wait", v1::ON_CLIENT_LOSS_WAIT}, {"reassign", v1::ON_CLIENT_LOSS_REASSIGN}};
const std::map<std::string, v1::Caching> kCachings = {
    {"pipeline", v1::CACHING_PIPELINE}, {"auto", v1::CACHING_AUTO}, {"off", v1::CACHING_OFF}};
const std::map<std::string, v1::Uneven> kUnevens = {{"free", v1::UNEVEN_FREE},
                                                    {"drop", v1::UNEVEN_DROP},
                                                    {"pad", v1::UNEVEN_PAD},
                                                    {"error", v1::UNEVEN_ERROR}};

std::string ShardingWords() {
  std::string list;
  for (const auto& [word, sharding] : kShardings) list += (list.empty() ? "" : ", ") + word;
  return list;
}

// One of the words of `known`, or left out: what the dispatcher takes then.
template <typename Value>
void AddChoice(CLI::App& app, const std::string& flag, const std::map<std::string, Value>& known,
               std::function<void(Value)> set, const std::string& help) {
  std::vector<std::string> words;
  for (const auto& [word, value] : known) words.push_back(word);
  app.add_option_function<std::string>(
         flag, [&known, set](const std::string& word) { set(known.at(word)); }, help)
      ->check(CLI::IsMember(words))
      ->type_name("");
}

// Throws as CLI11 wants it from a flag.
v1::Sharding ShardingOf(const std::string& word) {
  if (const auto found = kShardings.find(word); found != kShardings.end()) return found->second;
  std::vector<std::string> words;
  for (const auto& [known, sharding] : kShardings) words.push_back(known);
  const std::string nearest = NearestWord(word, words);
  throw CLI::ValidationError(
      "--sharding", fmt::format("no policy '{}'; {}", word,
                                nearest.empty() ? "the policies are " + ShardingWords()
                                                : fmt::format("did you mean '{}'?", nearest)));
}

class RunCommand final : public Command {
 public:
  void Declare(CLI::App& app) override {
    app.add_option("pipeline", path_, "YAML file")->required();
    app.add_option("--cluster", cluster_,
                   "a dispatcher's address; left out: a cluster in this process")
        ->envname("HEADRACE_CLUSTER");
    app.add_option("--workers", workers_,
                   "without --cluster: that many worker processes; 0: one in this process")
        ->check(CLI::Range(0, 256));
    app.add_option("--epochs", epochs_, "passes over the data")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    app.add_option("--job", options_.job, "the job's name; ranks of one job share its records");
    app.add_option_function<std::string>(
           "--sharding", [this](const std::string& word) { sharding_ = ShardingOf(word); },
           "how records are shared out over workers: " + ShardingWords())
        ->type_name("POLICY")
        ->default_str("dynamic");
    app.add_option("--ordering", ordering_,
                   "free, or deterministic: the same batches in the same order on any workers")
        ->check(CLI::IsMember({"free", "deterministic"}))
        ->capture_default_str();
    v1::JobOptions& job = options_.job_options;
    AddChoice<v1::Visitation>(
        app, "--visitation", kVisitations, [&job](v1::Visitation v) { job.set_visitation(v); },
        "how often a record comes, whatever fails; left out: exactly_once");
    AddChoice<v1::OnClientLoss>(
        app, "--on-client-loss", kClientLosses,
        [&job](v1::OnClientLoss v) { job.set_on_client_loss(v); },
        "a rank that falls silent is waited for, or its share goes to the others at once");
    AddChoice<v1::Uneven>(
        app, "--uneven", kUnevens, [&job](v1::Uneven v) { job.set_uneven(v); },
        "ranks take what they can get, or all have the same number of batches: the last ones are "
        "left out, repeated, or an error");
    app.add_option_function<double>(
           "--weight", [&job](double weight) { job.set_weight(weight); },
           "share of workers' time next to other jobs of its priority, where they are too few; "
           "left out: 1")
        ->check(CLI::PositiveNumber)
        ->type_name("SHARE");
    app.add_option_function<int32_t>(
           "--priority", [&job](int32_t priority) { job.set_priority(priority); },
           "where workers are too few, jobs with a higher one come first; left out: 0")
        ->type_name("-8..8");
    app.add_option_function<double>(
           "--least-workers", [&job](double workers) { job.set_least_workers(workers); },
           "in workers' worth of work: kept for the job whatever others claim, as far as it needs "
           "it")
        ->check(CLI::NonNegativeNumber)
        ->type_name("N");
    app.add_option_function<uint32_t>(
           "--most-workers", [&job](uint32_t workers) { job.set_most_workers(workers); },
           "its quota: no more workers work for it at a time; left out: none")
        ->type_name("N");
    AddChoice<v1::Caching>(
        app, "--cache", kCachings, [&job](v1::Caching v) { job.set_cache(v); },
        "workers keep rows where the pipeline's `cache` step stands, where the orchestrator finds "
        "it "
        "cheapest, or nowhere; left out: pipeline");
    app.add_option("--rank", options_.rank, "which rank of the job this is");
    app.add_option("--world-size", world_size_, "how many ranks there are");
    app.add_option("--prefetch-bytes", options_.prefetch_bytes, "frames held and under way")
        ->transform(CLI::AsSizeValue(false))
        ->capture_default_str();
    app.add_option("--transport", client_options_.transport,
                   "how batches come: auto (the best that a worker offers), or grpc, tcp, shm")
        ->envname("HEADRACE_TRANSPORT")
        ->capture_default_str();
    security_.Declare(app);
    app.add_option("--record-trace", record_,
                   "write what an orchestrator would see of the cluster to this file, for "
                   "`headrace simulate --trace`");
    app.add_option_function<double>(
           "--record-window", [this](double seconds) { record_window_ = absl::Seconds(seconds); },
           "seconds that are taken together in it")
        ->check(CLI::Range(0.5, 3600.0))
        ->default_str("2");
    app.add_option("--output", output_, "text, or one JSON line")
        ->check(CLI::IsMember({"text", "json"}));
    functions_.Declare(app);
    app.add_option("--log-level", log_level_, "what is logged")->capture_default_str();
  }

  absl::Status Stream() {
    const auto catalog = std::make_shared<const Catalog>();
    HR_ASSIGN_OR_RETURN(const v1::PipelineDef def, ReadPipelineFile(path_, *catalog));
    if (cluster_.empty()) {
      HR_RETURN_IF_ERROR(StartCluster(catalog));  // of its own: nothing to show it
    } else {
      client_options_.token_file = security_.token_file;
      client_options_.tls = security_.tls;
    }
    HR_ASSIGN_OR_RETURN(client_, Client::Connect(cluster_, client_options_));
    options_.job_options.set_sharding(sharding_);
    options_.job_options.set_world_size(world_size_);
    options_.job_options.set_epochs(static_cast<uint32_t>(epochs_));
    if (ordering_ == "deterministic") {
      options_.job_options.set_ordering(v1::ORDERING_DETERMINISTIC);
    }
    HR_ASSIGN_OR_RETURN(std::unique_ptr<Loader> loader, client_->Stream(def, options_));
    report_.pipeline = def.name().empty() ? path_ : def.name();
    report_.job = loader->job_name();
    HR_RETURN_IF_ERROR(StartRecording());
    for (int i = 0; i < epochs_; ++i) HR_RETURN_IF_ERROR(RunEpoch(*loader));
    if (recorder_) HR_RETURN_IF_ERROR(recorder_->Finish());
    loader->Close(absl::Seconds(1));
    std::fputs(output_ == "json" ? (RunJson(report_) + "\n").c_str() : RunText(report_).c_str(),
               stdout);
    return absl::OkStatus();
  }

  absl::Status Run() override {
    LoggingConfig log;
    log.level = log_level_;
    HR_RETURN_IF_ERROR(InitLogging(log));
    ShutdownSignal signal;  // before any thread
    stop_ = signal.token();
    const absl::Status status = Stream();
    recorder_.reset();
    client_.reset();
    processes_.reset();
    embedded_.reset();
    return status;
  }

 private:
  absl::Status StartRecording() {
    if (record_.empty()) return absl::OkStatus();
    HR_ASSIGN_OR_RETURN(const ChannelOptions dial,
                        MakeChannelOptions(client_options_.tls, client_options_.token_file));
    HR_ASSIGN_OR_RETURN(std::unique_ptr<FleetCalls> fleet, DialFleet(cluster_, RealClock(), dial));
    HR_ASSIGN_OR_RETURN(recorder_, TraceRecorder::Start(record_, std::move(fleet), record_window_));
    return absl::OkStatus();
  }

  absl::Status StartCluster(std::shared_ptr<const Catalog> catalog) {
    EmbeddedOptions options;
    options.workers = workers_ == 0 ? 1 : 0;
    functions_.Set(options.worker);
    HR_ASSIGN_OR_RETURN(embedded_, EmbeddedCluster::Start(options, std::move(catalog)));
    cluster_ = embedded_->address();
    if (workers_ > 0) {
      std::vector<std::string> arguments = {"--log.level", log_level_};
      functions_.Append(arguments);
      processes_ = std::make_unique<WorkerProcesses>(cluster_, arguments, "");
      HR_RETURN_IF_ERROR(processes_->Start(workers_));
      HR_RETURN_IF_ERROR(AwaitWorkers());
    }
    return absl::OkStatus();
  }

  absl::Status AwaitWorkers() {
    HR_ASSIGN_OR_RETURN(std::unique_ptr<Client> client, Client::Connect(cluster_));
    const absl::Time deadline = absl::Now() + absl::Seconds(20);
    while (true) {
      const auto reply = client->dispatcher().ListWorkers({}, absl::Seconds(1));
      if (reply.ok() && static_cast<size_t>(reply->workers_size()) >= workers_)
        return absl::OkStatus();
      if (const std::string failure = processes_->Failure(); !failure.empty())
        return Unavailable("{}", failure);
      if (absl::Now() > deadline)
        return DeadlineExceeded("the {} worker processes did not register within 20 s", workers_);
      if (stop_.Wait(absl::Milliseconds(20))) return Cancelled("stopped");
    }
  }

  // The dispatcher's sums over all tasks of the epoch; they are gone when it is.
  void PollSteps(const std::string& job) {
    if (polled_ + absl::Milliseconds(200) > absl::Now()) return;
    polled_ = absl::Now();
    v1::ListJobsRequest request;
    request.set_job_name(job);
    const auto reply = client_->dispatcher().ListJobs(request, absl::Seconds(1));
    if (!reply.ok() || reply->jobs_size() == 0 || reply->jobs(0).steps_size() == 0) return;
    epoch_steps_.assign(reply->jobs(0).steps().begin(), reply->jobs(0).steps().end());
    report_.workers = std::max<uint64_t>(report_.workers, reply->jobs(0).tasks());
  }

  void AddEpochSteps() {
    for (const v1::StepStats& step : epoch_steps_) {
      auto it = std::find_if(report_.steps.begin(), report_.steps.end(),
                             [&](const v1::StepStats& s) { return s.step() == step.step(); });
      if (it == report_.steps.end()) {
        report_.steps.push_back(step);
        continue;
      }
      it->set_cpu_seconds(it->cpu_seconds() + step.cpu_seconds());
      it->set_rows_in(it->rows_in() + step.rows_in());
      it->set_rows_out(it->rows_out() + step.rows_out());
      it->set_bytes_in(it->bytes_in() + step.bytes_in());
      it->set_bytes_out(it->bytes_out() + step.bytes_out());
      it->set_failed(it->failed() + step.failed());
    }
    epoch_steps_.clear();
  }

  absl::Status RunEpoch(Loader& loader) {
    HR_RETURN_IF_ERROR(loader.StartEpoch());
    EpochReport epoch;
    epoch.epoch = loader.epoch();
    const LoaderStats before = loader.stats();
    const absl::Time begin = absl::Now();
    ProgressBar::Options bar_options;
    bar_options.label = fmt::format("epoch {}", epoch.epoch);
    if (last_records_ > 0) bar_options.total = last_records_;
    ProgressBar bar(bar_options);
    while (true) {
      if (stop_.Cancelled())
        return Cancelled("stopped after {} records of epoch {}", epoch.records, epoch.epoch);
      absl::StatusOr<std::optional<Element>> element = loader.Next(absl::Milliseconds(200));
      PollSteps(loader.job_name());
      if (absl::IsDeadlineExceeded(element.status())) {
        HR_RETURN_IF_ERROR(CheckWorkers(loader));
        continue;
      }
      HR_RETURN_IF_ERROR(element.status());
      if (!*element) break;
      ++epoch.elements;
      epoch.records += (*element)->records();
      bar.Update(static_cast<int64_t>(epoch.records));
    }
    bar.Finish();
    const LoaderStats after = loader.stats();
    epoch.seconds = absl::ToDoubleSeconds(absl::Now() - begin);
    epoch.wait_seconds = absl::ToDoubleSeconds(after.wait - before.wait);
    epoch.bytes = after.bytes - before.bytes;
    const v1::EpochSummary summary = loader.summary();
    epoch.settled = summary.settled();
    epoch.failed = summary.failed();
    epoch.failures.assign(summary.failures().begin(), summary.failures().end());
    last_records_ = static_cast<int64_t>(epoch.records);
    report_.epochs.push_back(std::move(epoch));
    AddEpochSteps();
    return absl::OkStatus();
  }

  absl::Status CheckWorkers(const Loader& loader) {
    if (processes_ && processes_->running() == 0)
      return Unavailable("no worker is left: {}", processes_->Failure());
    if (const std::string why = loader.waiting(); !why.empty()) {
      LogLimited(waiting_limiter_, LogLevel::kWarning, "job {}: {}", loader.job_name(), why);
    }
    return absl::OkStatus();
  }

  std::string path_;
  std::string cluster_;
  size_t workers_ = 0;
  int epochs_ = 1;
  v1::Sharding sharding_ = v1::SHARDING_DYNAMIC;
  std::string ordering_ = "free";
  uint32_t world_size_ = 1;
  ClientOptions client_options_;
  SecurityFlags security_;
  StreamOptions options_;
  std::string record_;
  absl::Duration record_window_ = absl::Seconds(2);
  std::string output_ = "text";
  std::string log_level_ = "warning";
  FunctionFlags functions_;

  CancellationToken stop_;
  std::unique_ptr<EmbeddedCluster> embedded_;
  std::unique_ptr<WorkerProcesses> processes_;
  std::unique_ptr<Client> client_;
  std::unique_ptr<TraceRecorder> recorder_;
  RunReport report_;
  std::vector<v1::StepStats> epoch_steps_;
  absl::Time polled_ = absl::InfinitePast();
  int64_t last_records_ = 0;
  LogLimiter waiting_limiter_{absl::Seconds(5)};
};

}  // namespace

void Register_run(CommandList& commands) {
  commands.Add<RunCommand>("run",
                           "Streams a pipeline, here or from a cluster, and reports how fast");
}

}  // namespace headrace
