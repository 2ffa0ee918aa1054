// headrace explain PIPELINE.yaml: the graph, the splits, the measured cost of each step, the
// bottleneck. headrace explain JOB: the same of a job that runs, and where its caches go, and why.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <thread>

#include "cli/cluster_option.h"
#include "cli/command.h"
#include "cli/explain_job.h"
#include "cli/function_flags.h"
#include "cli/pipeline_file.h"
#include "cli/proto_json.h"
#include "cli/table.h"
#include "common/status.h"
#include "common/sync/signals.h"
#include "pipeline/engine/local_runner.h"
#include "pipeline/formats/dataset/dataset.h"
#include "pipeline/graph/passes/optimize.h"
#include "pipeline/graph/text/explain_text.h"

namespace headrace {
namespace {

class Explain final : public Command {
 public:
  void Declare(CLI::App& app) override {
    app.add_option("pipeline", path_, "YAML file, or the name of a job of the cluster")->required();
    app.add_option("--measure-splits", measure_splits_,
                   "run the pipeline on that many splits to measure it; 0: do not")
        ->capture_default_str();
    app.add_option("--seconds", seconds_, "of a job: how long to measure what it does now")
        ->check(CLI::Range(0.2, 3600.0))
        ->capture_default_str();
    functions_.Declare(app);
    cluster_.Declare(app);
  }

  absl::Status Run() override {
    return NamesJob() ? ExplainJob(cluster_, path_, absl::Seconds(seconds_)) : ExplainFile();
  }

 private:
  // A word that no file could be meant by. Where a cluster is named, a file must look like one.
  bool NamesJob() const {
    const std::filesystem::path path(path_);
    if (path.has_parent_path() || path.extension() == ".yaml" || path.extension() == ".yml")
      return false;
    std::error_code error;
    return cluster_.given() || !std::filesystem::exists(path, error);
  }

  absl::Status ExplainFile() {
    const Catalog catalog;
    HR_ASSIGN_OR_RETURN(const v1::PipelineDef def, ReadPipelineFile(path_, catalog));
    std::shared_ptr<FileSystem> files = NewLocalFileSystem();
    HR_ASSIGN_OR_RETURN(const Dataset dataset,
                        ListDataset(def.source(), catalog.formats, *files, {}));
    HR_ASSIGN_OR_RETURN(const Graph graph, BuildOptimized(def, dataset.schema, catalog.ops,
                                                          catalog.passes, dataset.version));
    LocalRunReport report;
    WorkerConfig worker;
    functions_.Set(worker);
    FunctionPool functions(FunctionOptionsOf(worker));
    const bool runs = functions_.on() || !CallsFunctions(graph);
    if (measure_splits_ > 0 && !dataset.splits.empty() && runs) {
      LocalRunOptions options;
      options.max_splits = measure_splits_;
      HR_ASSIGN_OR_RETURN(
          report, RunLocally(def, {&catalog.ops, &catalog.formats, files, &functions}, options,
                             [](Block) { return absl::OkStatus(); }));
    }
    if (cluster_.json()) {
      nlohmann::ordered_json out = ExplainJson(def, graph);
      out["splits"] = dataset.splits.size();
      out["files"] = dataset.files;
      out["bytes"] = dataset.bytes;
      out["measured"] = ToJson(report.stats)["steps"];
      out["measured_seconds"] = report.wall_seconds;
      out["measured_records"] = report.records;
      std::printf("%s\n", out.dump(2).c_str());
      return absl::OkStatus();
    }
    std::fputs(ExplainText(def, graph).c_str(), stdout);
    std::printf("\nsource: %llu files, %s, %zu splits\n",
                static_cast<unsigned long long>(dataset.files),
                Bytes(static_cast<double>(dataset.bytes)).c_str(), dataset.splits.size());
    if (!runs) std::puts("not measured: it calls Python functions; --udf import lets them run");
    PrintMeasured(report);
    return absl::OkStatus();
  }

  static bool CallsFunctions(const Graph& graph) {
    return std::any_of(graph.nodes().begin(), graph.nodes().end(),
                       [](const Node& node) { return node.async != nullptr; });
  }

  void PrintMeasured(const LocalRunReport& report) const {
    if (report.records == 0) return;
    double total = 0;
    const v1::StepStats* slowest = nullptr;
    for (const v1::StepStats& step : report.stats.steps()) {
      total += step.cpu_seconds();
      if (slowest == nullptr || step.cpu_seconds() > slowest->cpu_seconds()) slowest = &step;
    }
    std::printf("\nmeasured on %llu splits, %llu records, %.2f s:\n",
                static_cast<unsigned long long>(report.splits),
                static_cast<unsigned long long>(report.records), report.wall_seconds);
    Table table(
        {"step", "us/record", "share", "rows in", "rows out", "bytes out/record", "failed"});
    const auto records = static_cast<double>(report.records);
    for (const v1::StepStats& step : report.stats.steps()) {
      table.Add({step.step(), fmt::format("{:.2f}", 1e6 * step.cpu_seconds() / records),
                 fmt::format("{:.0f}%", 100 * step.cpu_seconds() / std::max(total, 1e-9)),
                 std::to_string(step.rows_in()), std::to_string(step.rows_out()),
                 Bytes(static_cast<double>(step.bytes_out()) / records),
                 std::to_string(step.failed())});
    }
    std::fputs(table.ToString().c_str(), stdout);
    std::printf("bottleneck: %s, %.0f%% of the CPU time; one core makes about %s records/s\n",
                slowest->step().c_str(), 100 * slowest->cpu_seconds() / std::max(total, 1e-9),
                Count(records / std::max(total, 1e-9)).c_str());
    for (const v1::FailureSample& sample : report.failures) {
      std::printf("failed at %s: %s\n", sample.step().c_str(), sample.message().c_str());
    }
  }

  std::string path_;
  double seconds_ = 2;
  ClusterOption cluster_;
  FunctionFlags functions_;
  size_t measure_splits_ = 4;
};

}  // namespace

void Register_explain(CommandList& commands) {
  commands.Add<Explain>(
      "explain",
      "The graph of a pipeline, its splits, what each step costs, the bottleneck; of a job that "
      "runs, where its caches go and why");
}

}  // namespace headrace
