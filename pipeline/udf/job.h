// A block on its way through subprocesses: what of it is still to be done, what was answered, and
// how that becomes the step's output. Owned by one keeper at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "pipeline/graph/op.h"
#include "pipeline/udf/answer.h"

namespace headrace::udf {

// How a function's fields lie in its step's input and output.
struct ColumnPlan {
  struct Output {
    bool returned = false;  // by the function, at `at` of its outputs; else kept: `at` of the block
    size_t at = 0;
    std::optional<size_t> input;  // column of the block with the same name, for unchanged values
    bool fits = false;            // its shape is declared as that one's: what comes in may go out
  };
  std::vector<size_t> inputs;   // columns that the function gets
  std::vector<Output> outputs;  // of the step
  SchemaPtr schema;             // of the step's output

  // INVALID_ARGUMENT: a field that is not there.
  static absl::StatusOr<ColumnPlan> Make(const Schema& input,
                                         const std::vector<std::string>& fields,
                                         FunctionSpec& spec);
};

// What the jobs of one session share, and their way back to the engine. Thread-safe.
class Delivery {
 public:
  Delivery(std::shared_ptr<const ColumnPlan> plan, RandomKey random)
      : plan_(std::move(plan)), random_(random) {}

  const ColumnPlan& plan() const { return *plan_; }
  const RandomKey& random() const { return random_; }

  void Deliver(const AsyncSession::Done& done, absl::StatusOr<AsyncResult> result);
  // No `done` runs or will be called when it returns.
  void Stop();
  bool stopped() const { return stopped_; }

 private:
  const std::shared_ptr<const ColumnPlan> plan_;
  const RandomKey random_;
  std::atomic<bool> stopped_{false};
  absl::Mutex mutex_;
  size_t running_ ABSL_GUARDED_BY(mutex_) = 0;
};

struct Job {
  using Rows = std::vector<uint32_t>;
  Job(Block b, AsyncSession::Done d, std::shared_ptr<Delivery> session);

  Block block;
  AsyncSession::Done done;
  std::shared_ptr<Delivery> delivery;
  bool single = false;  // a call per row, to tell which is to blame

  std::deque<Rows> todo;
  std::vector<std::pair<Rows, Answer>> answered;
  std::vector<std::pair<uint32_t, absl::Status>> failed;
  size_t kills = 0;  // processes that ended over it
  uint64_t cpu_nanos = 0;
};

// The step's output, from everything that was answered. Called once, when the job is finished.
AsyncResult Assemble(Job& job, const FunctionSpec& spec);

}  // namespace headrace::udf
