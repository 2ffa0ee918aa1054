// The Python subprocesses of a worker, shared by its tasks. The worker owns the one pool; it
// outlives all sessions. Thread-safe.
//
// Every function has subprocesses of its own (a group); tasks of the same function, of later
// epochs too, share them. A keeper thread per subprocess writes blocks into its memory, waits,
// reads the answers, and ends and replaces it when it dies, hangs or grows.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/logging/logging.h"
#include "pipeline/graph/op.h"
#include "pipeline/udf/function_spec.h"

namespace headrace {

namespace udf {
class FunctionGroup;
struct ColumnPlan;
}  // namespace udf

// What the operator allows.
enum class FunctionMode { kOff, kImport, kPickle };
// "off", "import", "pickle"; INVALID_ARGUMENT lists them.
absl::StatusOr<FunctionMode> ParseFunctionMode(std::string_view text);

struct FunctionPoolOptions {
  FunctionMode mode = FunctionMode::kOff;
  std::string python = "python3";             // the interpreter
  std::vector<std::string> path;              // directories of modules, before Python's own
  size_t processes = 0;                       // of one function; 0: one per core
  uint64_t memory_bytes = uint64_t{4} << 30;  // a subprocess that has more is replaced
  uint64_t block_bytes = uint64_t{1} << 30;   // of what is handed over at once
  absl::Duration load_timeout = absl::Seconds(120);
  LogLevel output_level = LogLevel::kInfo;  // of what they print
};

// Since the start of the pool.
struct FunctionCounters {
  std::atomic<uint64_t> blocks{0};
  std::atomic<uint64_t> started{0};   // subprocesses
  std::atomic<uint64_t> running{0};   // of them, now
  std::atomic<uint64_t> died{0};      // by themselves: crashed, exited
  std::atomic<uint64_t> hung{0};      // over the time limit
  std::atomic<uint64_t> recycled{0};  // over the memory limit
  std::atomic<uint64_t> refused{0};   // what they wrote was no answer
};

class FunctionPool {
 public:
  explicit FunctionPool(FunctionPoolOptions options);
  ~FunctionPool();  // ends all subprocesses; bounded

  // FAILED_PRECONDITION: the worker's config does not allow it; names the key.
  absl::StatusOr<std::unique_ptr<AsyncSession>> Open(const FunctionSpec& spec,
                                                     std::shared_ptr<const udf::ColumnPlan> plan,
                                                     const StepContext& context);

  const FunctionCounters& counters() const { return counters_; }
  const FunctionPoolOptions& options() const { return options_; }

 private:
  std::shared_ptr<udf::FunctionGroup> GroupOf(const FunctionSpec& spec);

  const FunctionPoolOptions options_;
  FunctionCounters counters_;
  absl::Mutex mutex_;
  std::map<std::string, std::shared_ptr<udf::FunctionGroup>> groups_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace headrace
