// What the engine adds to the steps themselves: the same graph over the same splits, once through a
// Task (one compute thread, one I/O thread), once in a bare loop on this thread. Look at the CPU
// column, which counts all threads.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <iostream>
#include <memory>
#include <vector>

#include "common/test_data.h"
#include "pipeline/engine/local_runner.h"
#include "pipeline/formats/dataset/dataset.h"
#include "pipeline/graph/graph.h"
#include "pipeline/passes/passes.h"

namespace headrace {
namespace {

constexpr size_t kRowsPerBlock = 64;

v1::Step& AddStep(v1::PipelineDef& pipeline, const std::string& op) {
  v1::Step& step = *pipeline.add_steps();
  step.set_op(op);
  return step;
}
template <typename T>
void Set(v1::ValueMap& map, const std::string& name, const T& value) {
  v1::NamedValue* entry = map.add_entries();
  entry->set_name(name);
  *entry->mutable_value() = ToValue(value);
}

v1::PipelineDef Records(int64_t bytes) {
  v1::PipelineDef pipeline;
  pipeline.set_name("records");
  pipeline.mutable_source()->set_format("range");
  Set<int64_t>(*pipeline.mutable_source()->mutable_params(), "elements", 200'000);
  Set<int64_t>(*pipeline.mutable_source()->mutable_params(), "bytes", bytes);
  Set<int64_t>(*AddStep(pipeline, "batch").mutable_params(), "size", 64);
  return pipeline;
}

v1::PipelineDef Images() {
  v1::PipelineDef pipeline;
  pipeline.set_name("images");
  pipeline.mutable_source()->set_format("image_folder");
  pipeline.mutable_source()->add_files(std::string(SharedData()) + "/imagenet/*.JPEG");
  // Long enough that the start of the threads (their decoders, their fresh memory) does not count.
  Set<int64_t>(*AddStep(pipeline, "repeat").mutable_params(), "count", 6);
  Set<std::string>(*AddStep(pipeline, "decode_image").mutable_params(), "field", "image");
  v1::Step& crop = AddStep(pipeline, "random_resized_crop");
  Set<std::string>(*crop.mutable_params(), "field", "image");
  Set<std::vector<int64_t>>(*crop.mutable_params(), "size", {224, 224});
  Set<std::string>(*AddStep(pipeline, "random_flip").mutable_params(), "field", "image");
  Set<int64_t>(*AddStep(pipeline, "shuffle").mutable_params(), "buffer", 64);
  Set<int64_t>(*AddStep(pipeline, "batch").mutable_params(), "size", 32);
  return pipeline;
}

struct Deps {
  Deps() {
    RegisterAll_ops(ops);
    RegisterAll_formats(formats);
  }
  OpRegistry ops;
  FormatRegistry formats;
  std::shared_ptr<FileSystem> files = NewLocalFileSystem();
};

void Check(const absl::Status& status) {
  if (status.ok()) return;
  std::cerr << status << "\n";
  std::abort();
}

// The steps from `at` on, one after the other; `emit` of the last one lets the block go.
class BareLoop {
 public:
  explicit BareLoop(const Graph& graph) : graph_(graph) {
    for (const Node& node : graph.nodes()) {
      contexts_.push_back(
          {.random = {
               .seed = node.seed, .epoch = 0, .step = static_cast<uint32_t>(node.draw_index)}});
      states_.push_back(node.stateful != nullptr ? node.stateful->NewState(contexts_.back())
                                                 : nullptr);
    }
  }
  void Push(size_t at, Block block) {
    for (; at < states_.size(); ++at) {
      const Node& node = graph_.nodes()[at];
      if (states_[at] != nullptr) {
        Check(states_[at]->Push(std::move(block),
                                [this, at](Block b) { Push(at + 1, std::move(b)); }));
        return;
      }
      Check(node.stateless->Run(block, contexts_[at]));
      block.Compact();
      block.SetSchema(node.output);
    }
    rows_ += block.rows();
  }
  void Finish() {
    for (size_t at = 0; at < states_.size(); ++at) {
      if (states_[at] == nullptr) continue;
      Check(states_[at]->Finish([this, at](Block b) { Push(at + 1, std::move(b)); }));
    }
  }
  uint64_t rows() const { return rows_; }

 private:
  const Graph& graph_;
  std::vector<StepContext> contexts_;
  std::vector<std::unique_ptr<OpState>> states_;
  uint64_t rows_ = 0;
};

uint64_t ByHand(const v1::PipelineDef& pipeline, const Deps& deps, size_t rows_per_block) {
  auto dataset = ListDataset(pipeline.source(), deps.formats, *deps.files, {});
  Check(dataset.status());
  auto graph = BuildOptimized(pipeline, dataset->schema, deps.ops);
  Check(graph.status());
  BareLoop loop(*graph);
  uint64_t records = 0;
  ReadLimits limits;
  limits.max_rows = rows_per_block;
  const size_t splits = dataset->splits.size();
  for (size_t i = 0; i < splits * graph->passes(); ++i) {
    const v1::Split& split = dataset->splits[i % splits];
    auto reader = dataset->format->Open(*deps.files, split, graph->source_schema());
    Check(reader.status());
    for (bool more = true; more;) {
      Block block(graph->source_schema());
      auto read = (*reader)->Read(limits, block);
      Check(read.status());
      more = *read;
      records += block.rows();
      if (block.rows() > 0) loop.Push(0, std::move(block));
    }
  }
  loop.Finish();
  benchmark::DoNotOptimize(loop.rows());
  return records;
}

uint64_t ByEngine(const v1::PipelineDef& pipeline, const Deps& deps) {
  LocalRunOptions options;
  options.compute_threads = 1;
  options.io_threads = 1;
  auto report = RunLocally(pipeline, {&deps.ops, &deps.formats, deps.files}, options,
                           [](Block) { return absl::OkStatus(); });
  Check(report.status());
  return report->records;
}

void Run(benchmark::State& state, const v1::PipelineDef& pipeline, size_t rows_per_block,
         bool engine) {
  const Deps deps;
  uint64_t records = 0;
  for (auto _ : state) {
    records += engine ? ByEngine(pipeline, deps) : ByHand(pipeline, deps, rows_per_block);
  }
  state.SetItemsProcessed(static_cast<int64_t>(records));
  state.counters["cpu_ns_per_record"] =
      benchmark::Counter(static_cast<double>(records) * 1e-9,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void RecordsByHand(benchmark::State& state) {
  Run(state, Records(state.range(0)), kRowsPerBlock, false);
}
void RecordsByEngine(benchmark::State& state) { Run(state, Records(state.range(0)), 0, true); }
void ImagesByHand(benchmark::State& state) { Run(state, Images(), 1, false); }
void ImagesByEngine(benchmark::State& state) { Run(state, Images(), 0, true); }

BENCHMARK(RecordsByHand)->Arg(8)->Arg(1024)->MeasureProcessCPUTime()->Unit(benchmark::kMillisecond);
BENCHMARK(RecordsByEngine)
    ->Arg(8)
    ->Arg(1024)
    ->MeasureProcessCPUTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK(ImagesByHand)->MeasureProcessCPUTime()->Unit(benchmark::kMillisecond);
BENCHMARK(ImagesByEngine)->MeasureProcessCPUTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace headrace

BENCHMARK_MAIN();
