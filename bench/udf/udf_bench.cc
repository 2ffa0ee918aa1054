// What it costs to hand blocks to Python functions in subprocesses, and how they scale:
// bench_udf [ROUNDS]. One JSON line: per-block microseconds of functions that do nothing, and
// blocks/s of one that computes, with one and two subprocesses; an entry per round, interleaved.
#include <stdlib.h>

#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "nlohmann/json.hpp"
#include "pipeline/udf/function_pool.h"
#include "pipeline/udf/job.h"

namespace headrace {
namespace {

constexpr char kModule[] = R"(
def same(batch):
    return batch

def fresh(batch):
    return {"x": batch["x"] + 1}

def each(record):
    return record

def burn(record):
    total = 0
    for i in range(3000):
        total += i * i
    return record
)";

void Check(const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "bench_udf: %s\n", status.ToString().c_str());
  std::exit(1);
}

Block MakeBlock(const SchemaPtr& schema, size_t rows, size_t items) {
  Block block(schema);
  const std::vector<float> values(items, 1.5f);
  for (size_t row = 0; row < rows; ++row) {
    const Cell cell = MakeCell<float>(block.arena(), std::span<const float>(values),
                                      Shape{static_cast<int64_t>(items)});
    block.AppendRow({RunOf({.split = 0, .index = row})}, std::span(&cell, 1));
  }
  return block;
}

// One function with its subprocesses.
class Bench {
 public:
  Bench(const std::string& directory, const std::string& function, size_t processes, size_t items)
      : schema_(std::make_shared<const Schema>(
            Schema({{"x", DType::kFloat32, Shape{static_cast<int64_t>(items)}}}))),
        items_(items),
        pool_(Options(directory, processes)) {
    FunctionSpec spec;
    spec.function = "bench_functions:" + function;
    spec.batched = function == "same" || function == "fresh";
    auto plan = udf::ColumnPlan::Make(*schema_, {}, spec);
    Check(plan.status());
    auto session =
        pool_.Open(spec, std::make_shared<const udf::ColumnPlan>(*std::move(plan)), StepContext());
    Check(session.status());
    session_ = *std::move(session);
    Seconds(40 * processes, 8, 4 * processes);  // starts and warms all of them
  }
  ~Bench() { session_->Stop(); }

  // Of `blocks` blocks of `rows` rows, at most `under_way` of them at a time.
  double Seconds(size_t blocks, size_t rows, size_t under_way) {
    std::vector<Block> made;
    for (size_t i = 0; i < blocks; ++i) made.push_back(MakeBlock(schema_, rows, items_));
    const absl::Time start = absl::Now();
    for (Block& block : made) {
      {
        absl::MutexLock lock(&mutex_);
        room_ = under_way;
        mutex_.Await(absl::Condition(this, &Bench::HasRoom));
        ++running_;
      }
      session_->Start(std::move(block), [this](absl::StatusOr<AsyncResult> result) {
        Check(result.status());
        if (!result->block.failures().empty()) Check(result->block.failures()[0].status);
        absl::MutexLock lock(&mutex_);
        cpu_nanos_ += result->cpu_nanos;
        --running_;
      });
    }
    absl::MutexLock lock(&mutex_);
    room_ = 1;
    mutex_.Await(absl::Condition(this, &Bench::HasRoom));
    return absl::ToDoubleSeconds(absl::Now() - start);
  }

  // Both sides' CPU time since the last call, the function's own included.
  double TakeCpuSeconds() {
    absl::MutexLock lock(&mutex_);
    return 1e-9 * static_cast<double>(std::exchange(cpu_nanos_, 0));
  }

 private:
  static FunctionPoolOptions Options(const std::string& directory, size_t processes) {
    FunctionPoolOptions options;
    options.mode = FunctionMode::kImport;
    options.python = HEADRACE_TEST_PYTHON;
    options.path = {directory};
    options.processes = processes;
    return options;
  }
  bool HasRoom() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return running_ < room_; }

  const SchemaPtr schema_;
  const size_t items_;
  FunctionPool pool_;
  std::unique_ptr<AsyncSession> session_;
  absl::Mutex mutex_;
  size_t running_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t cpu_nanos_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t room_ ABSL_GUARDED_BY(mutex_) = 1;
};

void Measure(int rounds, const std::string& directory) {
  Bench same(directory, "same", 1, 16), fresh(directory, "fresh", 1, 16);
  Bench large(directory, "fresh", 1, 4096), each(directory, "each", 1, 16);
  Bench one(directory, "burn", 1, 16), two(directory, "burn", 2, 16);
  nlohmann::ordered_json out;
  const auto micros = [](double seconds, size_t blocks) {
    return 1e6 * seconds / static_cast<double>(blocks);
  };
  constexpr size_t kAhead = 4;  // what the engine has under way with one subprocess
  for (int round = 0; round < rounds; ++round) {
    same.TakeCpuSeconds();
    out["same_us"].push_back(micros(same.Seconds(4000, 64, kAhead), 4000));
    out["same_cpu_us"].push_back(micros(same.TakeCpuSeconds(), 4000));
    out["fresh_us"].push_back(micros(fresh.Seconds(4000, 64, kAhead), 4000));
    out["one_at_a_time_us"].push_back(micros(same.Seconds(2000, 64, 1), 2000));
    out["megabyte_us"].push_back(micros(large.Seconds(300, 64, 4), 300));
    out["record_us"].push_back(micros(each.Seconds(300, 256, 4), 300 * 256));
    out["one_process"].push_back(300 / one.Seconds(300, 8, kAhead));
    out["two_processes"].push_back(300 / two.Seconds(300, 8, 6));
  }
  std::printf("%s\n", out.dump().c_str());
}

}  // namespace
}  // namespace headrace

int main(int argc, char** argv) {
  char directory[] = "/tmp/headrace-bench-udf-XXXXXX";
  if (::mkdtemp(directory) == nullptr) return 1;
  std::ofstream(std::string(directory) + "/bench_functions.py") << headrace::kModule;
  headrace::Measure(argc > 1 ? std::atoi(argv[1]) : 5, directory);
  return ::system(("rm -rf " + std::string(directory)).c_str()) == 0 ? 0 : 1;
}
